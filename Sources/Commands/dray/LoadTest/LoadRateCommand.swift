import Client
import CommandLine
import LoadModel
import Model
import Text

/// `dray loadtest rate`: changes the load of a running test.
enum LoadRateCommand {
    static let command = Command(
        "rate", summary: "Change the rate or the users of a running load test.",
        discussion: """
            The test with the process id PID sends NEW arrivals per second from now to its \
            planned end, or has NEW users if it was started with --users; its remaining stages \
            are dropped. The report has the change. For tests of this user that send their load \
            from their own process, without --search and --scale.
            """,
        operands: [
            CommandOperand("PID", help: "Process id of dray loadtest."),
            CommandOperand("NEW", help: "Arrivals per second, or users; 0 to pause."),
        ]
    ) { arguments in
        do {
            let (process, load) = (arguments.operands[0], arguments.operands[1])
            guard let number = Int32(process), number > 0 else {
                throw UsageError(
                    "PID: given '\(printable(process))'", hint: "Allowed: a process id.")
            }
            guard let (_, rest) = LoadText.number(load[...]), rest.isEmpty else {
                throw UsageError(
                    "NEW: given '\(printable(load))'", hint: "Allowed: a number, 0 or more.")
            }
            try LoadControl.send(load, toProcess: number)
            return .success
        } catch {
            return Console.fail(error)
        }
    }
}
