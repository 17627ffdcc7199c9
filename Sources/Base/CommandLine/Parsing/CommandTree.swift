/// All commands of a program: the one table that its parser, help, completions and manual read.
package struct CommandTree: Sendable {
    /// A command and where it stands.
    package struct Node: Sendable {
        /// Words that lead to it, the program's name first: `dray catalog check`.
        package let path: [String]
        package let command: Command
        /// Its options and those of all commands.
        package let options: [CommandOption]

        var name: String { path.joined(separator: " ") }
    }

    let root: Command
    let version: String
    /// Options of all commands.
    let common: [CommandOption]
    /// Settings of all commands in the environment and in configuration files.
    package let settings: [CommandSetting]

    package init(
        root: Command, version: String, common: [CommandOption] = [],
        settings: [CommandSetting] = []
    ) {
        self.root = root
        self.version = version
        self.common = common
        self.settings = settings
    }

    static let help = CommandOption("help", short: "h", .flag, help: "Show this text.")
    static let versionOption = CommandOption("version", .flag, help: "Show the version.")

    /// Returns every command, parents before their subcommands.
    package var nodes: [Node] { nodes(of: root, [root.name]) }

    /// Returns the command that `words` lead to and all below it; nil if there is none.
    func nodes(at words: [String]) -> [Node]? {
        let path = [root.name] + words
        let found = nodes.filter { $0.path.starts(with: path) }
        return found.isEmpty ? nil : found
    }

    private func nodes(of command: Command, _ path: [String]) -> [Node] {
        let isRoot = path.count == 1
        let node = Node(
            path: path, command: command,
            options: command.options + common + [Self.help]
                + (isRoot ? [Self.versionOption] : []))
        return [node]
            + command.subcommands.flatMap { nodes(of: $0, path + [$0.name]) }
    }
}

extension [String] {
    /// `a, b or c`.
    var joinedByOr: String {
        guard let last, count > 1 else { return first ?? "" }
        return dropLast().joined(separator: ", ") + " or " + last
    }
}
