/// Completions for fish 3 or later.
struct FishCompletion {
    private let tree: CommandTree
    private var program: String { tree.root.name }
    private var function: String { "__\(program.asFunctionName)" }

    init(_ tree: CommandTree) { self.tree = tree }

    var script: String {
        let nodes = tree.nodes
        let paths = nodes.dropFirst().map { Self.quoted($0.name) }.joined(separator: " ")
        let withValues = nodes.flatMap { node in
            node.options.filter { $0.placeholder != nil }.flatMap { option in
                (["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? []))
                    .map { Self.quoted("\(node.name) \($0)") }
            }
        }.joined(separator: " ")
        return """
            # Completions of \(program) for fish, made by `\(program) completion fish`.

            set -g \(function)_commands \(paths)
            set -g \(function)_valued \(withValues)

            # Succeeds if the words before the cursor are of command $argv[1], and $argv[2] operands
            # of it, if that is given.
            function \(function)_at
                set -l words (commandline -opc)
                set -l path \(program)
                set -l count 0
                set -l skips 0
                for word in $words[2..-1]
                    if test $skips -eq 1
                        set skips 0
                    else if string match -q -- '-*' $word
                        if contains -- "$path $word" $\(function)_valued
                            set skips 1
                        end
                    else if test $count -eq 0; and contains -- "$path $word" $\(function)_commands
                        set path "$path $word"
                    else
                        set count (math $count + 1)
                    end
                end
                test "$path" = "$argv[1]"; or return 1
                test (count $argv) -eq 1; or test $count -eq $argv[2]
            end

            # Prints the words of $argv, each after what commas separate before the cursor.
            function \(function)_list
                set -l before (string replace -r '[^,=]*$' '' -- (commandline -ct))
                set before (string replace -r '^-.*=' '' -- "$before")
                for word in $argv
                    echo "$before$word"
                end
            end

            complete -c \(program) -f
            \(nodes.flatMap(lines).joined(separator: "\n"))

            """
    }

    private func lines(_ node: CommandTree.Node) -> [String] {
        let command = node.command
        let at = Self.quoted("\(function)_at \(Self.quoted(node.name))")
        var lines = command.subcommands.map { subcommand in
            complete(
                Self.quoted("\(function)_at \(Self.quoted(node.name)) 0"),
                "-a \(Self.quoted(subcommand.name)) -d \(Self.quoted(subcommand.summary))")
        }
        lines += command.operands.enumerated().compactMap { index, operand in
            action(operand.values).map {
                complete(
                    operand.isRepeatable
                        ? at : Self.quoted("\(function)_at \(Self.quoted(node.name)) \(index)"),
                    "\($0) -d \(Self.quoted(operand.name))")
            }
        }
        lines += node.options.map { option in
            let short = option.short.map { " -s \($0)" } ?? ""
            let value = option.placeholder == nil ? "" : " \(action(option.values) ?? "-x")"
            return complete(
                at,
                "-l \(option.name)\(short)"
                    + (value.isEmpty || value.hasPrefix(" -x") || value.hasPrefix(" -r")
                        ? value : " -x\(value)")
                    + " -d \(Self.quoted(option.help))")
        }
        return lines
    }

    private func complete(_ condition: String, _ rest: String) -> String {
        "complete -c \(program) -n \(condition) \(rest)"
    }

    private func action(_ values: CompletedValues) -> String? {
        switch values {
        case .none, .number: nil
        case .files: "-r -F"
        case .directories: "-a '(__fish_complete_directories (commandline -ct))'"
        case .words(let words): "-a \(Self.quoted(words.joined(separator: " ")))"
        case .commaSeparated(let words):
            "-a \(Self.quoted("(\(function)_list \(words.joined(separator: " ")))"))"
        case .commands: action(.words(tree.root.subcommands.map(\.name)))
        }
    }

    /// Returns the text in single quotes of fish, where a backslash escapes.
    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
