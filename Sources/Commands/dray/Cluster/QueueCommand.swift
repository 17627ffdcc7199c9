import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Text

/// `dray queue`: shows queues; pauses, resumes and drains them.
enum QueueCommand {
    static let command = Command(
        "queue", summary: "Show, pause, resume or drain the queues of a cluster.",
        discussion: """
            Without a command, lists the queues. \(ClusterCall.privateClusterHelp) The other commands need \
            a running cluster, or the private one of --state.
            """,
        subcommands: [
            Command(
                "list", summary: "List the queues and their waiting jobs.",
                options: ClusterCall.listOptions, action: list),
            change(
                "pause", .pause, "Stop handing out the jobs of a queue.",
                "Workers finish the jobs they hold. All others wait until `dray queue "
                    + "resume`."),
            change(
                "resume", .resume, "End a pause or a drain of a queue.",
                "The queue hands out jobs and accepts submissions again."),
            change(
                "drain", .drain, "Finish the jobs of a queue and accept no new submissions.",
                "Submissions to its site are rejected until `dray queue resume`."),
        ], options: ClusterCall.listOptions, action: list)

    private static func change(
        _ name: String, _ action: QueueControl.Action, _ summary: String, _ discussion: String
    ) -> Command {
        Command(
            name, summary: summary, discussion: discussion,
            operands: [CommandOperand("NAME", help: "Name of the queue, from `dray queue`.")],
            options: ClusterCall.options
        ) { arguments in
            await ClusterCall.run(arguments) { client in
                let status = try await client.control(
                    queue: arguments.operands[0], QueueControl(action),
                    retrySeconds: ClusterCall.retrySeconds)
                return try ClusterCall.show(status, arguments) {
                    "Queue \(printable(status.name)) is \(status.state.rawValue): "
                        + "\(HumanFormat.count(status.waiting)) waiting, "
                        + "\(HumanFormat.count(status.leased)) leased.\n"
                }
            }
        }
    }

    @Sendable private static func list(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments) { client in
            let list = try await client.queues(retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(
                list, arguments, csv: { ListCSV.queues(list.queues) },
                as: { table(list.queues) })
        }
    }

    static func table(_ queues: [ClusterStatus.QueueStatus]) -> String {
        let isFaulty = queues.contains { $0.siteFault != nil }
        return ClusterCall.section(
            "Queues",
            ["Name", "State", "Bandwidth", "Waiting", "Leased", "Storage"]
                + (isFaulty ? ["Not writable"] : []),
            [.left, .left, .left, .right, .right, .left] + (isFaulty ? [.left] : []),
            queues.map { queue in
                [
                    printable(queue.name), queue.state.rawValue,
                    queue.isSiteClosed ? "off" : ClusterCall.rate(queue.siteBytesPerSecond),
                    HumanFormat.count(queue.waiting), HumanFormat.count(queue.leased),
                    printable(shown(storageURL: queue.storageURL)),
                ]
                    + (isFaulty
                        ? [queue.siteFault.map { SiteFailureText.text(ofFault: $0) } ?? "–"] : [])
            }) + hints(queues.map { ($0.name, $0.siteFault) })
    }

    /// Formats one line per site that cannot be written; empty if there is none.
    static func hints(_ sites: [(queue: String, fault: Failure?)]) -> String {
        sites.compactMap { site in
            site.fault.map {
                "\(printable(site.queue)): \(SiteFailureText.hint(ofFault: $0, at: site.queue))\n"
            }
        }.joined()
    }
}
