import Client
import CommandLine

/// `dray completion`: writes a shell's completions of all commands.
enum CompletionCommand {
    static let command: Command = Command(
        "completion", summary: "Write the completions of a shell.",
        discussion: """
            The script completes commands, options, their values and files. Load it when the \
            shell starts:

              bash  dray completion bash > ~/.local/share/bash-completion/completions/dray
              zsh   dray completion zsh > DIR/_dray, where DIR is one of $fpath
              fish  dray completion fish > ~/.config/fish/completions/dray.fish
            """,
        operands: [
            CommandOperand(
                "SHELL", .words(CompletionShell.allCases.map(\.rawValue)),
                help: "bash, zsh or fish.")
        ]
    ) { arguments in
        guard let shell = CompletionShell(rawValue: arguments.operands[0]) else { return .usage }
        Console.write(shell.script(of: DrayCommand.tree))
        return .success
    }
}
