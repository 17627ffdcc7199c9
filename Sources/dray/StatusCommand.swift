import CoordinatorClient
import FoundationEssentials
import Model
import Runtime

/// `dray status`: the cluster at a glance.
enum StatusCommand {
    static let command = Command(
        "status", summary: "Show the catalogs, queues and workers of a cluster.",
        discussion: "Asks the cluster at DRAY_COORDINATOR, by default the one of `dray up`.",
        options: [CommandOption("json", .flag, help: "Print JSON.")]
    ) { arguments in
        do {
            try LogOutput.configure(environment: DrayCommand.environment, defaultLevel: .warning)
            let endpoints = CommonOptions.coordinator ?? "http://\(CommonOptions.defaultListen)"
            let client = try CoordinatorClient(endpoints: endpoints, token: CommonOptions.token)
            defer { client.shutdown() }
            let status = try await client.clusterStatus(retrySeconds: 2)
            Console.write(arguments.flag("json") ? try json(status) : text(status))
            return .success
        } catch {
            return Console.fail(error)
        }
    }

    private static func json(_ status: ClusterStatus) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(status), as: UTF8.self) + "\n"
    }

    /// A table each of catalogs, queues and workers.
    static func text(_ status: ClusterStatus) -> String {
        let catalogs = status.catalogs.map { catalog in
            let totals = catalog.totals
            return [
                catalog.id.description, printable(catalog.name), catalog.state.rawValue,
                "\(HumanFormat.count(totals.completed)) of \(HumanFormat.count(totals.assets))",
                HumanFormat.count(totals.failed), HumanFormat.bytes(totals.bytes),
                HumanFormat.duration(seconds: totals.seconds), printable(catalog.queue),
            ]
        }
        let queues = status.queues.map { queue in
            [
                printable(queue.name), HumanFormat.count(queue.waiting),
                HumanFormat.count(queue.leased), printable(redacted(url: queue.storageURL)),
            ]
        }
        let workers = status.workers.map { worker in
            [
                printable(worker.name), HumanFormat.count(worker.activeTransfers),
                HumanFormat.duration(seconds: max(0, worker.silentSeconds)),
            ]
        }
        return [
            "dray \(printable(status.version)), schema \(status.schemaVersion)\n",
            section(
                "Catalogs",
                ["Number", "Name", "State", "Completed", "Failed", "Bytes", "Time", "Queue"],
                [.right, .left, .left, .right, .right, .right, .right, .left], catalogs),
            section(
                "Queues", ["Name", "Waiting", "Leased", "Storage"],
                [.left, .right, .right, .left], queues),
            section(
                "Workers", ["Name", "Transfers", "Last heard of"],
                [.left, .right, .right], workers),
        ].joined(separator: "\n")
    }

    private static func section(
        _ title: String, _ headings: [String], _ alignments: [TextLayout.Alignment],
        _ rows: [[String]]
    ) -> String {
        guard !rows.isEmpty else { return "\(title): none\n" }
        return "\(title)\n"
            + TextLayout.table(headings: headings, alignments: alignments, rows: rows)
    }
}
