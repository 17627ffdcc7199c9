/// Completions for bash 4 or later; they need no package of completions.
struct BashCompletion {
    private let tree: CommandTree
    private var program: String { tree.root.name }
    private var function: String { "_\(program.asFunctionName)" }

    init(_ tree: CommandTree) { self.tree = tree }

    var script: String {
        """
        # Completions of \(program) for bash, made by `\(program) completion bash`.

        # Sets COMPREPLY to those of the words after $2 that begin with $1.
        \(function)_words() {
            mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
        }

        # Completes the last of several words that commas separate.
        \(function)_list() {
            local before=''
            case $1 in *,*) before=${1%,*}, ;; esac
            mapfile -t COMPREPLY < <(compgen -P "$before" -W "$2" -- "${1##*,}")
            compopt -o nospace 2>/dev/null
        }

        # Completes paths: -f for files, -d for directories alone.
        \(function)_paths() {
            mapfile -t COMPREPLY < <(compgen "$2" -- "$1")
            compopt -o filenames 2>/dev/null
        }

        # Completes the value of option $2 of command $1; fails for options without a value.
        \(function)_value() {
            local current=$3
            case "$1 $2" in
        \(values)
                *) return 1 ;;
            esac
            return 0
        }

        # Completes operand number $2 of command $1.
        \(function)_operand() {
            local current=$3
            case "$1 $2" in
        \(operands)
            esac
        }

        \(function)() {
            local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
            local path=\(program) index=1 count=0 word commands options
            COMPREPLY=()
            # bash cuts words at =, so --name=value is three of them.
            if [ "$current" = = ]; then
                current=''
            elif [ "$previous" = = ]; then
                previous=${COMP_WORDS[COMP_CWORD - 2]}
            fi
            while [ "$index" -lt "$COMP_CWORD" ]; do
                word=${COMP_WORDS[index]}
                case "$path $word" in
        \(descents)
                    *) break ;;
                esac
                index=$((index + 1))
            done
            if \(function)_value "$path" "$previous" "$current"; then return; fi
            case $path in
        \(tables)
            esac
            case $current in
                -*) \(function)_words "$current" "$options"; return ;;
            esac
            # Options and their values are no operands.
            while [ "$index" -lt "$COMP_CWORD" ]; do
                word=${COMP_WORDS[index]}
                case $word in
                    -*)
                        if [ "${COMP_WORDS[index + 1]}" = = ]; then
                            index=$((index + 2))
                        elif \(function)_value "$path" "$word" ''; then
                            index=$((index + 1))
                        fi
                        ;;
                    *) count=$((count + 1)) ;;
                esac
                index=$((index + 1))
            done
            COMPREPLY=()
            \(function)_operand "$path" "$count" "$current"
            if [ "$count" -eq 0 ] && [ -n "$commands" ]; then
                mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$commands" -- "$current")
            fi
        }

        complete -F \(function) \(program)

        """
    }

    private var nodes: [CommandTree.Node] { tree.nodes }

    private var values: String {
        nodes.flatMap { node in
            node.options.filter { $0.placeholder != nil }.map { option in
                let names = ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
                let patterns = names.map { "\(node.name) \($0)".quotedForShell }
                return line(patterns.joined(separator: " | "), action(option.values) ?? ":")
            }
        }.joined(separator: "\n")
    }

    private var operands: String {
        nodes.flatMap { node in
            node.command.operands.enumerated().compactMap { index, operand in
                let pattern =
                    operand.isRepeatable
                    ? "\(node.name) ".quotedForShell + "*" : "\(node.name) \(index)".quotedForShell
                return action(operand.values).map { line(pattern, $0) }
            }
        }.joined(separator: "\n")
    }

    private var descents: String {
        let paths = nodes.dropFirst().map { $0.name.quotedForShell }
        return "            \(paths.joined(separator: " | ")) ) path=\"$path $word\" ;;"
    }

    private var tables: String {
        nodes.map { node in
            let options = node.options.map { "--\($0.name)" }.joined(separator: " ")
            let commands = node.command.subcommands.map(\.name).joined(separator: " ")
            return line(
                node.name.quotedForShell,
                "commands=\(commands.quotedForShell) options=\(options.quotedForShell)")
        }.joined(separator: "\n")
    }

    private func action(_ values: CompletedValues) -> String? {
        switch values {
        case .none, .number: nil
        case .files: "\(function)_paths \"$current\" -f"
        case .directories: "\(function)_paths \"$current\" -d"
        case .words(let words):
            "\(function)_words \"$current\" \(words.joined(separator: " ").quotedForShell)"
        case .commaSeparated(let words):
            "\(function)_list \"$current\" \(words.joined(separator: " ").quotedForShell)"
        case .commands:
            action(.words(tree.root.subcommands.map(\.name)))
        }
    }

    private func line(_ pattern: String, _ action: String) -> String {
        "        \(pattern)) \(action) ;;"
    }
}
