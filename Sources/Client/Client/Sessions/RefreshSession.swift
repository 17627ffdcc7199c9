package import API
import CommandLine
package import CoordinatorClient
import FoundationEssentials
import Model
import Rendering
import Services
import Text

/// Refreshes a catalog, follows it to its end and reports the changes. It is a service, like
/// `PrefetchSession`.
package final class RefreshSession: FollowingSession {
    package let name = "refresh"
    package let messages = InterruptMessages.refresh

    package struct Plan: Sendable {
        package var catalog: CatalogReference
        package var reportPath: String?
        package var mediaCheck: MediaCheck?
        package var isQuiet: Bool
        package var printsJSON: Bool
        package var isEmbedded: Bool

        package init(
            catalog: CatalogReference,
            reportPath: String? = nil,
            mediaCheck: MediaCheck? = nil,
            isQuiet: Bool,
            printsJSON: Bool,
            isEmbedded: Bool
        ) {
            self.catalog = catalog
            self.reportPath = reportPath
            self.mediaCheck = mediaCheck
            self.isQuiet = isQuiet
            self.printsJSON = printsJSON
            self.isEmbedded = isEmbedded
        }
    }

    private let plan: Plan
    private let makeClient: @Sendable () throws -> CoordinatorClient
    private let display: ProgressDisplay
    package let state: SessionState

    /// Creates a session; `makeClient` is called once the cluster runs.
    package init(
        _ plan: Plan, display: ProgressDisplay,
        makeClient: @escaping @Sendable () throws -> CoordinatorClient
    ) {
        self.plan = plan
        state = SessionState(isEmbedded: plan.isEmbedded)
        self.display = display
        self.makeClient = makeClient
    }

    package func run() async throws {
        state.begin()
        defer { state.end() }
        let client = try makeClient()
        defer { client.shutdown() }
        defer { display.end() }
        switch try await work(client) {
        case .ended(let status):
            display.end()
            try await conclude(status, client)
        case .interrupted: state.set(.interrupted)
        case .detached(let catalog):
            display.end()
            Console.note(
                "detached; the refresh continues. Progress: \(CatalogHints.follow) \(catalog)")
            state.set(.success)
        }
    }

    /// Starts and follows; if draining starts first, cancels the refresh, unless it is detached.
    private func work(_ client: CoordinatorClient) async throws(Failure) -> FollowedEnd {
        // An absent cluster is retried only briefly: its name may be mistyped.
        try await client.readiness(retrySeconds: 3)
        let answer = try await client.apply(
            SelectionAction(.refresh, catalog: plan.catalog), retrySeconds: 10)
        guard let catalog = answer.catalog else {
            throw Failure(
                .clusterProtocol, "The coordinator does not support refresh; upgrade it.")
        }
        display.note("refreshing \(HumanFormat.count(answer.assets, "asset"))")
        let follower = CatalogFollower(
            display: display, draining: state.draining, isEmbedded: plan.isEmbedded, isRefresh: true
        )
        state.detachment.begin()
        do throws(Failure) {
            if let status = try await follower.follow(catalog, client) {
                state.detachment.end()
                return .ended(status)
            }
        } catch {
            // A failure after draining started was caused by it.
            guard state.draining.isDraining else { throw error }
        }
        guard !state.detachment.hasHappened else { return .detached(catalog) }
        await cancel(catalog, client)
        return .interrupted
    }

    /// Cancels the refresh only, not other work of the catalog. Waits a few seconds for running
    /// publications and checksum files.
    private func cancel(_ catalog: CatalogID, _ client: CoordinatorClient) async {
        // In its own task: a second signal cancels the session's.
        do {
            try await Task {
                _ = try await client.apply(
                    SelectionAction(
                        .cancel, catalog: CatalogReference(catalog), ofRefresh: true),
                    retrySeconds: 1)
            }.value
        } catch {
            display.end()
            Console.note("the refresh could not be cancelled: \(error)")
            return
        }
        let clock = ContinuousClock()
        let end = clock.now + .seconds(5)
        while clock.now < end, !Task.isCancelled {
            let status = try? await client.status(of: catalog, withActive: false, retrySeconds: 1)
            guard status?.state == .running else { return }
            // For some seconds at most, the status needs no stream of events.
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// The output with `--json`.
    private struct Outcome: Encodable {
        let catalog: String
        let state: CatalogState
        let unchanged: Int
        let changed: Int
        let failed: Int
        /// Titles that still lack renditions; omitted for none.
        let withoutRenditions: Int?
        /// The same as in the report, like `waited` and `waits`.
        let deadline: ReportWriter.Deadline?
        let waited: [WaitHistory.Total]
        let waits: [CatalogWait]
        let media: Media?

        struct Media: Encodable {
            let playable: Int
            let unplayable: Int
            let unchecked: Int

            init(_ findings: MediaCheck.Findings) {
                playable = findings.playable
                unplayable = findings.unplayable.count
                unchecked = findings.unchecked.count
            }
        }
    }

    private func conclude(_ status: CatalogStatus, _ client: CoordinatorClient) async throws {
        let summary = try await client.refreshSummary(of: status.id)
        let media = try await plan.mediaCheck?.run(status, client, draining: state.draining)
        let missed = status.missedDeadline ? DeadlineText.line(status) : nil
        if plan.printsJSON {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
            let outcome = Outcome(
                catalog: status.name, state: status.state, unchanged: summary.unchanged,
                changed: summary.changed, failed: summary.failed,
                withoutRenditions: summary.withoutRenditions,
                deadline: ReportWriter.Deadline(status), waited: display.waited(of: status.id),
                waits: display.waits(of: status.id), media: media.map(Outcome.Media.init))
            Console.write(String(decoding: try encoder.encode(outcome), as: UTF8.self) + "\n")
        } else if !plan.isQuiet {
            let notes = [WaitText.line(display.waited(of: status.id)), missed].compactMap {
                $0.map { $0 + "\n" }
            }.joined()
            Console.write(Self.text(summary, of: status.name) + notes + (media?.text ?? ""))
        }
        if summary.failed > 0 {
            writeAll(
                RunSummary.failures(
                    summary.failures, total: summary.failed, reportPath: plan.reportPath), to: 2)
        }
        media?.list(reportPath: plan.reportPath)
        if let path = plan.reportPath {
            var writer = ReportWriter(path: path, client: client, media: media)
            (writer.waited, writer.waits) = (
                display.waited(of: status.id), display.waits(of: status.id)
            )
            try await writer.write(status)
        }
        if plan.isQuiet || plan.printsJSON, let missed { Console.note(missed) }
        let isWell = summary.failed == 0 && media?.unplayable.isEmpty ?? true
        switch status.state {
        // Assets that were cancelled before the refresh also make a catalog cancelled.
        case .cancelled where summary.isCancelled: state.set(.cancelled)
        case .completed, .failed, .cancelled, .removed:
            state.set(!isWell ? .someFailed : status.missedDeadline ? .deadlineMissed : .success)
        case .interrupted, .open, .running: state.set(.interrupted)
        }
    }

    static func text(_ summary: RefreshSummary, of catalog: String) -> String {
        "\(printable(catalog)): \(HumanFormat.count(summary.unchanged)) unchanged, "
            + "\(HumanFormat.count(summary.changed)) changed, "
            + "\(HumanFormat.count(summary.failed)) failed\n"
            + (summary.withoutRenditions.map(LeftOutText.summary) ?? "")
            + LeftOutText.lines(
                Array((summary.lacking ?? []).prefix(RunSummary.listedWarnings)))
    }
}
