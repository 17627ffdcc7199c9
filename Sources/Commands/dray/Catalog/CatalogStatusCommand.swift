import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Text

/// `dray catalog show`, also under the name `status`: shows the progress of one catalog and its
/// waits.
enum CatalogStatusCommand {
    static let command = named(
        "show", summary: "Show a catalog's progress, and what it waits for.")
    static let synonym = named("status", summary: "The same as show.")

    private static func named(_ name: String, summary: String) -> Command {
        Command(
            name, summary: summary, discussion: ClusterCall.privateClusterHelp,
            operands: [
                CommandOperand(
                    "CATALOG", help: "Number or name of the catalog, from `dray catalog list`.")
            ],
            options: [CatalogCommand.site] + ClusterCall.options
        ) { arguments in
            await ClusterCall.run(
                arguments, workers: 0, asking: { try CatalogCommand.reference(arguments) }
            ) { reference, client, isPrivate in
                let status = try await client.status(
                    of: reference, retrySeconds: ClusterCall.retrySeconds)
                let source = try await source(of: status.id, client)
                return try ClusterCall.show(status, arguments) {
                    text(status, source, isIdle: isPrivate)
                }
            }
        }
    }

    private static func source(
        of catalog: CatalogID, _ client: CoordinatorClient
    ) async throws(Failure) -> SourceStatus? {
        do {
            return try await client.source(of: catalog, retrySeconds: ClusterCall.retrySeconds)
        } catch  where error.code == .inputNotFound {
            return nil
        }
    }

    /// Returns the commands that show why something failed, and that continue an ended catalog.
    private static func nextSteps(_ status: CatalogStatus) -> [String] {
        let again = "dray catalog retry \(status.id), or submit the catalog again"
        let why = "why: dray assets list \(status.id) --asset-state failed"
        switch status.state {
        case .failed: return [why, "next: \(again)"]
        case .cancelled: return ["next: \(again)"]
        case .interrupted: return ["next: submit the catalog again, which resumes it"]
        case .removed: return ["next: submit the catalog again, which fetches it again"]
        case .running where status.totals.failed > 0: return [why]
        case .completed where status.totals.cancelled ?? 0 > 0: return ["next: \(again)"]
        case .open, .running, .completed: return []
        }
    }

    /// Formats the status, one line per known fact.
    ///
    /// - Parameter isIdle: true for a private cluster that was started for this answer, which has no
    ///   workers.
    static func text(
        _ status: CatalogStatus, _ source: SourceStatus? = nil, isIdle: Bool = false
    ) -> String {
        let totals = status.totals
        var lines = ["\(printable(status.name)) (\(status.id)): \(status.shownState)"]
        lines += counts(totals, isRemoved: status.state == .removed).map { "  \($0)" }
        if status.state == .running, !isIdle {
            let active = status.active.count
            lines.append(
                "  active: " + (active < 20 ? "" : "more than ")
                    + HumanFormat.count(min(active, 20), "asset"))
        }
        if let issue = status.issue {
            lines.append("  \(SiteFailureText.text(ofFault: issue))")
        }
        if let seconds = status.refreshSeconds, let next = status.nextRefresh {
            lines.append(
                "  refresh:  every \(HumanFormat.duration(seconds: seconds)), next "
                    + TimeText.minute(ofSeconds: next))
        }
        if let source { lines.append("  \(SourceCommand.line(source))") }
        if let deadline = status.deadline {
            lines.append("  deadline: \(TimeText.minute(ofSeconds: deadline))")
        }
        if let trace = status.traceID { lines.append("  trace: \(printable(trace))") }
        lines += StatusCommand.lines(status, isIdle: isIdle).map { "  \($0)" }
        lines += nextSteps(status).map { "  \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func counts(_ totals: CatalogTotals, isRemoved: Bool) -> [String] {
        guard !isRemoved else {
            let (files, bytes) = (totals.freedFiles ?? 0, totals.freedBytes ?? 0)
            return ["freed \(HumanFormat.count(files, "file")), \(HumanFormat.bytes(bytes))"]
        }
        return [
            "\(HumanFormat.count(totals.completed)) of "
                + "\(HumanFormat.count(totals.assets, "asset")) completed, "
                + "\(HumanFormat.count(totals.failed)) failed, "
                + "\(HumanFormat.count(totals.cancelled ?? 0)) cancelled",
            "\(HumanFormat.count(totals.segmentsDone)) of "
                + "\(HumanFormat.count(totals.segments, "segment")), "
                + "\(HumanFormat.bytes(totals.bytes + totals.receivingBytes))"
                + (totals.expectedBytes.map { " of \(HumanFormat.bytes($0))" } ?? ""),
        ]
    }
}
