import Text

/// Completions for zsh: a function for each command, with the descriptions of its help.
struct ZshCompletion {
    private let tree: CommandTree
    private var program: String { tree.root.name }

    init(_ tree: CommandTree) { self.tree = tree }

    var script: String {
        let functions = tree.nodes.map(function).joined(separator: "\n")
        return """
            #compdef \(program)
            # Completions of \(program) for zsh, made by `\(program) completion zsh`.

            \(functions)
            # A file of $fpath is the function's body; a sourced one registers it.
            if [ "$funcstack[1]" = _\(program) ]; then
                _\(program) "$@"
            else
                compdef _\(program) \(program)
            fi

            """
    }

    private func name(of node: CommandTree.Node) -> String { "_\(node.name.asFunctionName)" }

    private func function(_ node: CommandTree.Node) -> String {
        let command = node.command
        var lines = node.options.flatMap(specifications)
        guard !command.subcommands.isEmpty else {
            lines += command.operands.enumerated().map { index, operand in
                let position =
                    operand.isRepeatable
                    ? "*:" : operand.isRequired ? "\(index + 1):" : "\(index + 1)::"
                return (position + "\(Self.text(operand.name)):\(action(operand.values))")
                    .quotedForShell
            }
            return """
                \(name(of: node))() {
                    _arguments -s -S \\
                        \(lines.joined(separator: " \\\n        "))
                }

                """
        }
        lines += ["'1: :->command'", "'*:: :->arguments'"]
        let described = command.subcommands.map { subcommand in
            "\(subcommand.name.replacing(":", with: "\\:")):\(subcommand.summary)".quotedForShell
        }
        let operand = command.operands.first.map { action($0.values) } ?? ""
        let other = operand.isEmpty ? "" : "\n            \(operand)"
        let children = command.subcommands.map { subcommand in
            "                \(subcommand.name.quotedForShell)) "
                + "\(name(of: node))__\(subcommand.name.asFunctionName) ;;"
        }
        return """
            \(name(of: node))() {
                local curcontext="$curcontext" state line
                typeset -A opt_args
                _arguments -C -s -S \\
                    \(lines.joined(separator: " \\\n        "))
                case $state in
                    command)
                        local -a commands=(
                            \(described.joined(separator: "\n                "))
                        )
                        _describe -t commands \(("\(node.name) command").quotedForShell) commands\(other)
                        ;;
                    arguments)
                        case $line[1] in
            \(children.joined(separator: "\n"))
                        esac
                        ;;
                esac
            }

            """
    }

    /// Specifications of `_arguments` for one option, one for each of its names.
    private func specifications(_ option: CommandOption) -> [String] {
        let long = "--\(option.name)"
        let short = option.short.map { "-\($0)" }
        let names = [long] + (short.map { [$0] } ?? [])
        let exclusion = option.isRepeatable ? "*" : "(\(names.joined(separator: " ")))"
        let meaning = "[\(Self.text(option.help))]"
        guard let placeholder = option.placeholder else {
            return names.map { (exclusion + $0 + meaning).quotedForShell }
        }
        let value = ":\(Self.text(placeholder)):\(action(option.values))"
        // `=` after a long name: the value follows it, or is the next word.
        return names.map { name in
            (exclusion + name + (name == long ? "=" : "+") + meaning + value).quotedForShell
        }
    }

    private func action(_ values: CompletedValues) -> String {
        switch values {
        case .none, .number: ""
        case .files: "_files"
        case .directories: "_files -/"
        case .words(let words): "(\(words.joined(separator: " ")))"
        case .commaSeparated(let words):
            "_sequence compadd - \(words.joined(separator: " "))"
        case .commands: "(\(tree.root.subcommands.map(\.name).joined(separator: " ")))"
        }
    }

    /// Returns text for a specification, in which colons and brackets have a meaning.
    private static func text(_ text: String) -> String {
        var result = ""
        for character in text {
            if "[]:\\".contains(character) { result.append("\\") }
            result.append(character)
        }
        return result
    }
}
