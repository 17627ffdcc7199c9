/// A manual page in roff with the man macros, made of the table of commands.
package struct ManualPage {
    private let tree: CommandTree
    private let nodes: [CommandTree.Node]
    private let date: String

    /// Creates the page of the command that `words` lead to, with all its subcommands. Returns nil
    /// if there is no such command.
    ///
    /// - Parameter date: the date of the version, `2026-11-22`.
    package init?(of tree: CommandTree, at words: [String] = [], date: String) {
        guard let nodes = tree.nodes(at: words) else { return nil }
        self.tree = tree
        self.nodes = nodes
        self.date = date
    }

    /// The page's source: ASCII, one sentence or macro a line.
    package var roff: String {
        let top = nodes[0]
        let title = top.path.joined(separator: "-")
        var text = """
            .\\" Made by `\(tree.root.name) man`.
            .TH \(title.uppercased()) 1 \(date) "\(tree.root.name) \(tree.version)" "User Commands"
            .SH NAME
            \(Roff.text(title)) \\- \(Roff.text(Self.phrase(top.command.summary)))
            .SH SYNOPSIS

            """
        text += Self.synopsis(top)
        let discussion = Self.discussion(top.command)
        text += ".SH DESCRIPTION\n" + Roff.line(top.command.summary)
        text += discussion.isEmpty ? "" : ".PP\n" + discussion
        text += Self.operands(top.command)
        text += ".SH OPTIONS\n" + Self.options(top.options)
        if nodes.count > 1 { text += ".SH COMMANDS\n" + nodes.dropFirst().map(section).joined() }
        return text
    }

    private func section(_ node: CommandTree.Node) -> String {
        let discussion = Self.discussion(node.command)
        return ".SS \(Roff.text(node.name))\n" + Self.synopsis(node) + ".PP\n"
            + Roff.line(node.command.summary) + (discussion.isEmpty ? "" : ".PP\n" + discussion)
            + Self.operands(node.command) + Self.options(node.command.options)
    }

    /// Returns a summary as the middle of a sentence: no full stop.
    private static func phrase(_ summary: String) -> String {
        summary.hasSuffix(".") ? String(summary.dropLast()) : summary
    }

    private static func synopsis(_ node: CommandTree.Node) -> String {
        let command = node.command
        var words = ["\\fB\(Roff.text(node.name))\\fR"]
        if !command.subcommands.isEmpty {
            words.append(command.action == nil ? "\\fICOMMAND\\fR" : "[\\fICOMMAND\\fR]")
        }
        for operand in command.operands {
            let several = operand.isRepeatable ? Roff.text("…") : ""
            let name = "\\fI\(Roff.text(operand.name))\\fR\(several)"
            words.append(operand.isRequired ? name : "[\(name)]")
        }
        for option in command.options where option.isRequired { words.append(Roff.name(option)) }
        if command.options.contains(where: { !$0.isRequired }) { words.append("[\\fIOPTIONS\\fR]") }
        return words.joined(separator: " ") + "\n"
    }

    private static func operands(_ command: Command) -> String {
        command.operands.map { ".TP\n\\fI\(Roff.text($0.name))\\fR\n\(Roff.line($0.help))" }
            .joined()
    }

    private static func options(_ options: [CommandOption]) -> String {
        options.map { option in
            let short = option.short.map { "\\fB\\-\($0)\\fR, " } ?? ""
            return ".TP\n\(short)\(Roff.name(option))\n\(Roff.line(option.help))"
        }.joined()
    }

    private static func discussion(_ command: Command) -> String {
        command.discussion.split(separator: "\n\n").map { paragraph in
            // An indented paragraph is an example or a table, as in the help.
            paragraph.hasPrefix(" ")
                ? ".nf\n" + Roff.lines(String(paragraph)) + ".fi\n"
                : Roff.line(String(paragraph))
        }.joined(separator: ".PP\n")
    }
}

/// Writes text as roff.
private enum Roff {
    /// Returns the text of a filled line, without line feeds in it.
    static func line(_ text: String) -> String { lines(text.replacing("\n", with: " ")) }

    /// Returns the lines as they are, none of which is a request.
    static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let escaped = self.text(String(line))
            return (escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" : "") + escaped + "\n"
        }.joined()
    }

    /// Returns an option's name and placeholder.
    static func name(_ option: CommandOption) -> String {
        let name = "\\fB\\-\\-\(text(option.name))\\fR"
        return option.placeholder.map { "\(name) \\fI\(text($0))\\fR" } ?? name
    }

    /// Escapes the text; what stands in backquotes is bold.
    static func text(_ text: String) -> String {
        var result = ""
        var isBold = false
        let isPaired = text.count { $0 == "`" } % 2 == 0
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            // A plain hyphen may become a typographic one, which no shell takes.
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "`" where isPaired:
                isBold.toggle()
                result += isBold ? "\\fB" : "\\fR"
            case "`": result += "\\(ga"
            case _ where scalar.value < 0x80: result.unicodeScalars.append(scalar)
            default:
                let hex = String(scalar.value, radix: 16, uppercase: true)
                result += "\\[u\(String(repeating: "0", count: max(0, 4 - hex.count)))\(hex)]"
            }
        }
        return result
    }
}
