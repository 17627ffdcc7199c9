import Client
import CommandLine
import Model
import Text

/// `dray man`: writes manual pages.
enum ManualCommand {
    static let command: Command = Command(
        "man", summary: "Write a manual page (roff).",
        discussion: """
            Without COMMAND, the page describes all commands. To read it, or to install it:

              dray man | man -l -
              dray man > /usr/local/share/man/man1/dray.1
            """,
        operands: [
            CommandOperand(
                "COMMAND", .commands, required: false, takesRest: true, help: "Only this command.")
        ]
    ) { arguments in
        guard
            let page = ManualPage(
                of: DrayCommand.tree, at: arguments.operands, date: drayVersionDate)
        else {
            let name = arguments.operands.joined(separator: " ")
            return Console.fail(
                UsageError(
                    "unknown command '\(printable(name))'",
                    hint: "`dray --help` lists the commands."))
        }
        Console.write(page.roff)
        return .success
    }
}
