import Client
import CommandLine
import CoordinatorClient
import LoadModel
import Model
import Text

/// `dray loadtest rate`: changes the load of a running test.
enum LoadRateCommand {
    static let command = Command(
        "rate", summary: "Change the rate or the users of a running load test.",
        discussion: """
            TEST sends NEW arrivals per second from now to its planned end, or has NEW users if it \
            was started with --users; its remaining stages are dropped. The report has the change. \
            TEST is the process id of a test of this user, or the id of a test on the cluster at \
            DRAY_COORDINATOR, which `dray status` shows. On a cluster a change holds two seconds \
            later. The rate of replays, and of steps of --search and --scale, cannot \
            be changed.
            """,
        operands: [
            CommandOperand("TEST", help: "Process id of dray loadtest, or id of a cluster's test."),
            CommandOperand("NEW", .number, help: "Arrivals per second, or users; 0 to pause."),
        ]
    ) { arguments in
        do {
            let (test, load) = (arguments.operands[0], arguments.operands[1])
            guard let (level, rest) = LoadText.number(load[...]), rest.isEmpty else {
                throw UsageError(
                    "NEW: given '\(printable(load))'", hint: "Allowed: a number, 0 or more.")
            }
            if let process = Int32(test), process > 0 {
                try LoadControl.send(load, toProcess: process)
            } else if let id = LoadTestID(test) {
                return await ClusterCall.run { client in
                    _ = try await client.changeLoad(
                        of: id, to: level, retrySeconds: ClusterCall.retrySeconds)
                    return ""
                }
            } else {
                throw UsageError(
                    "TEST: given '\(printable(test))'",
                    hint: "Allowed: a process id, or the id of a load test on a cluster.")
            }
            return .success
        } catch {
            return Console.fail(error)
        }
    }
}
