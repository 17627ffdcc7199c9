/// A shell that Dray writes completions for.
package enum CompletionShell: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// Returns the script that completes the command lines of `tree`: subcommands, options, their
    /// values and files. The shell runs no program for it.
    package func script(of tree: CommandTree) -> String {
        switch self {
        case .bash: BashCompletion(tree).script
        case .zsh: ZshCompletion(tree).script
        case .fish: FishCompletion(tree).script
        }
    }
}

extension String {
    /// The text in single quotes, for bash and zsh.
    var quotedForShell: String { "'" + replacing("'", with: "'\\''") + "'" }

    /// The text as a part of a shell function's name.
    var asFunctionName: String { replacing("-", with: "_").replacing(" ", with: "__") }
}
