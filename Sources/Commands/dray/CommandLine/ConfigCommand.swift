import Client
import CommandLine
import Configuration
import FoundationEssentials
import Model
import Rendering
import Text

/// `dray config`: shows and checks configuration.
enum ConfigCommand {
    static let command: Command = Command(
        "config", summary: "Show where settings come from; check a configuration file.",
        subcommands: [
            Command(
                "show", summary: "Show each setting, its value and where it comes from.",
                discussion: """
                    With COMMAND and its arguments, also the command's options. Nothing is run. \
                    Secrets are not shown. Precedence: configuration file, environment, command \
                    line; the last one wins.

                      dray config show worker --connections 64
                    """,
                operands: [
                    CommandOperand(
                        "COMMAND", .commands, required: false, takesRest: true,
                        help: "A command and its arguments; options of `show` must come before it.")
                ], options: [ClusterCall.json], action: show),
            Command(
                "check", summary: "Check a configuration file.",
                discussion: "Exits with 2 if the file has an unknown key or a value that cannot be "
                    + "used.",
                operands: [CommandOperand("FILE", .files, help: "A TOML file, or FILE.json.")],
                action: check),
        ])

    @Sendable private static func check(_ arguments: Arguments) async -> ExitCode {
        do {
            let file = try ConfigurationSource.read(arguments.operands[0], of: DrayCommand.tree)
            Console.write("\(printable(file.path)): no errors\n")
            return .success
        } catch {
            return Console.fail(error)
        }
    }

    private struct Row: Encodable {
        var name: String
        /// Nil for the default, and for a secret.
        var value: String?
        var origin: String
        var isSecret: Bool
    }

    /// Returns all settings and their sources, without secrets.
    static func settings(_ arguments: Arguments) throws -> some Encodable {
        try answer(arguments, of: nil)
    }

    private struct Answer: Encodable {
        var file: String?
        var settings: [Row]
    }

    @Sendable private static func show(_ arguments: Arguments) async -> ExitCode {
        do {
            guard let answer = try answer(arguments) else { return .success }
            Console.write(
                try ClusterCall.show(answer, arguments) {
                    "File: \(answer.file.map { printable($0) } ?? "none")\n\n"
                        + TextLayout.table(
                            headings: ["Setting", "Value", "From"],
                            alignments: [.left, .left, .left],
                            rows: answer.settings.map { row in
                                [
                                    row.name,
                                    row.isSecret && row.origin != ValueOrigin.defaults.description
                                        ? "hidden" : row.value.map { printable($0) } ?? "–",
                                    printable(row.origin),
                                ]
                            })
                })
            return .success
        } catch {
            return Console.fail(error)
        }
    }

    /// Returns the settings; nil if the command line of COMMAND asks for help, which it prints.
    private static func answer(_ arguments: Arguments) throws -> Answer? {
        let tree = DrayCommand.tree
        guard !arguments.operands.isEmpty else {
            return try answer(arguments, of: nil)
        }
        var found: (node: CommandTree.Node, arguments: Arguments)?
        let parser = CommandParser(tree) { (node, given) throws(UsageError) in
            if given.origin(of: "config") == nil, let path = arguments.text("config") {
                given.set("config", [path], from: .commandLine)
            }
            let configuration = try ConfigurationSource.configuration(given, of: tree)
            try configuration.complete(&given, of: node)
            found = (node, given)
        }
        do throws(UsageError) {
            if case .show(let text) = try parser.parse(arguments.operands) {
                Console.write(text)
                return nil
            }
        } catch {
            // What is missing does not matter here.
            if found == nil { throw error }
        }
        guard let found else { return nil }
        return try answer(found.arguments, of: found.node)
    }

    private static func answer(
        _ arguments: Arguments, of node: CommandTree.Node?
    ) throws -> Answer {
        let file = try ConfigurationSource.file(arguments, of: DrayCommand.tree)
        let configuration = try ConfigurationSource.configuration(
            arguments, of: DrayCommand.tree)
        var rows = configuration.settings(arguments, of: node).map { value in
            Row(
                name: value.setting.name,
                value: value.text.isEmpty || value.setting.isSecret
                    ? nil : Redaction.message(value.text),
                origin: value.origin.description, isSecret: value.setting.isSecret)
        }
        for option in node?.options ?? [] {
            let isCommon = Settings.options.contains { $0.name == option.name }
            let origin = arguments.origin(of: option.name) ?? .defaults
            guard !isCommon, option.setting == nil || origin != .defaults else { continue }
            var value: String?
            if case .flag = option.kind {
                value = "\(arguments.flag(option.name))"
            } else if arguments.text(option.name) != nil, !option.isSecret {
                value = Redaction.message(arguments.texts(option.name).joined(separator: ","))
            }
            rows.append(
                Row(
                    name: "--\(option.name)", value: value, origin: origin.description,
                    isSecret: option.isSecret))
        }
        return Answer(file: file?.path, settings: rows)
    }
}
