import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Text

/// `dray status`: shows an overview of the cluster.
enum StatusCommand {
    static let command = Command(
        "status", summary: "Show the catalogs, queues and workers of a cluster.",
        discussion: """
            \(ClusterCall.clusterHelp) Exits with 3 if it does not answer. With --state, starts the \
            private cluster of `dray prefetch` while the command runs.
            """,
        options: ClusterCall.listOptions + [
            CommandOption(
                "list", .choice(placeholder: "LIST", of: ["catalogs", "queues", "workers"]),
                help: "The list of --csv: catalogs, queues or workers. Default: catalogs.")
        ]
    ) { arguments in
        if arguments.origin(of: "list") == .commandLine, !arguments.flag(ClusterCall.csv.name) {
            return Console.fail(
                UsageError(
                    "--list needs --csv", hint: "Omit it: all lists are shown without --csv."))
        }
        return await ClusterCall.run(arguments, isCheck: true, workers: 0) { client, isPrivate in
            let status = try await client.clusterStatus(retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(
                status, arguments, csv: { csv(status, arguments.text("list")) },
                as: { text(status, isIdle: isPrivate) })
        }
    }

    private static func csv(_ status: ClusterStatus, _ list: String?) -> String {
        switch list {
        case "queues": ListCSV.queues(status.queues)
        case "workers": ListCSV.workers(status.workers)
        default: ListCSV.catalogs(status.catalogs)
        }
    }

    /// Formats tables of catalogs, queues and workers, and of load tests while one runs.
    ///
    /// - Parameter isIdle: true for a private cluster that was started for this answer.
    static func text(_ status: ClusterStatus, isIdle: Bool = false) -> String {
        // Rare columns are shown only if one has a value.
        let isAnyCancelled = status.catalogs.contains { $0.totals.cancelled != nil }
        let isTimed = status.catalogs.contains { $0.notBefore != nil || $0.deadline != nil }
        let catalogs = status.catalogs.map { catalog in
            let totals = catalog.totals
            return [
                catalog.id.description, printable(catalog.name), catalog.shownState,
                completed(catalog),
                HumanFormat.count(totals.failed),
            ]
                + (isAnyCancelled ? [HumanFormat.count(totals.cancelled ?? 0)] : []) + [
                    HumanFormat.bytes(totals.bytes),
                    HumanFormat.duration(seconds: totals.seconds), printable(catalog.queue),
                ]
                + (isTimed
                    ? [catalog.notBefore, catalog.deadline].map {
                        $0.map(TimeText.minute(ofSeconds:)) ?? "–"
                    }
                    : [])
        }
        let hasIssue = status.workers.contains { $0.issue != nil || $0.isStuck }
        let workers = status.workers.map { worker in
            [
                printable(worker.name), HumanFormat.count(worker.activeTransfers),
                HumanFormat.duration(seconds: max(0, worker.silentSeconds)), lastResult(worker),
            ] + (hasIssue ? [issue(worker)] : [])
        }
        var sections = [
            "dray \(printable(status.version)), schema \(status.schemaVersion)\n",
            ClusterCall.section(
                "Catalogs",
                ["Number", "Name", "State", "Completed", "Failed"]
                    + (isAnyCancelled ? ["Cancelled"] : []) + ["Bytes", "Time", "Queue"]
                    + (isTimed ? ["Not before", "Deadline"] : []),
                [.right, .left, .left, .right, .right] + (isAnyCancelled ? [.right] : [])
                    + [.right, .right, .left]
                    + (isTimed ? [.left, .left] : []), catalogs)
                + notes(status.catalogs, isIdle: isIdle),
            QueueCommand.table(status.queues),
            ClusterCall.section(
                "Workers",
                ["Name", "Transfers", "Last heartbeat", "Last result"]
                    + (hasIssue ? ["Failure"] : []),
                [.left, .right, .right, .right] + (hasIssue ? [.left] : []), workers),
        ]
        if let tests = status.loadTests { sections.append(table(tests)) }
        return sections.joined(separator: "\n")
    }

    /// Formats how many assets of a catalog are completed; a dash if all were removed.
    static func completed(_ catalog: CatalogStatus) -> String {
        guard catalog.state != .removed else { return "–" }
        let totals = catalog.totals
        return "\(HumanFormat.count(totals.completed)) of \(HumanFormat.count(totals.assets))"
    }

    /// Formats the time since the minute in which a worker last stored something.
    private static func lastResult(_ worker: ClusterStatus.WorkerStatus) -> String {
        guard let seconds = worker.resultSeconds else { return "–" }
        return seconds < 60 ? "now" : HumanFormat.duration(seconds: seconds)
    }

    private static func issue(_ worker: ClusterStatus.WorkerStatus) -> String {
        if let issue = worker.issue { return printable(issue.message) }
        guard worker.isStuck else { return "–" }
        return "stuck: no result since it leased jobs "
            + "\(HumanFormat.duration(seconds: worker.leaseSeconds ?? 0)) ago"
    }

    /// Formats the waits, ends and deadlines of catalogs that run or have waits, one line each.
    private static func notes(_ catalogs: [CatalogStatus], isIdle: Bool) -> String {
        let lines = catalogs.filter(\.isUnderWay).flatMap { catalog in
            self.lines(catalog, isIdle: isIdle).map {
                "\(catalog.id) \(printable(catalog.name)) \($0)\n"
            }
        }
        return lines.isEmpty ? "" : "\n" + lines.joined()
    }

    /// Describes the catalog's waits, its end and its deadline; of a running one, that nothing
    /// works on it if `isIdle`.
    static func lines(_ catalog: CatalogStatus, isIdle: Bool) -> [String] {
        if isIdle, catalog.state == .running {
            return [
                "stopped: nothing works on it now; the same `dray prefetch`, or `dray up`, "
                    + "continues it"
            ]
        }
        return [
            catalog.recording.map(RecordingText.line),
            WaitText.line(catalog.waits ?? []),
            // It does not end by itself.
            catalog.isPaused ? nil : catalog.finish.map(FinishText.line),
            DeadlineText.line(catalog),
        ].compactMap(\.self)
    }

    private static func table(_ tests: [LoadTestStatus]) -> String {
        ClusterCall.section(
            "Load tests", ["Name", "Queue", "State", "Workers", "Lost", "Time", "Id"],
            [.left, .left, .left, .right, .right, .right, .left],
            tests.map { test in
                let gone = test.shards.count { $0.state == .lost || $0.state == .failed }
                let since = test.started ?? test.created
                return [
                    printable(test.name), printable(test.queue ?? "any"), test.state.rawValue,
                    HumanFormat.count(test.shards.count { $0.state != .dismissed }),
                    HumanFormat.count(gone),
                    HumanFormat.duration(seconds: max(0, test.now - since)), test.id.description,
                ]
            })
    }
}
