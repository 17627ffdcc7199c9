package import API
import CommandLine
package import CoordinatorClient
import Foundation
import Glibc
package import ListSources
import Lists
import Model
import Rendering
import Services
import Storage
import Text

/// Submits a checked list to a coordinator, follows the catalog to its end and reports the result.
///
/// It is a service like the cluster's own parts: it starts after the coordinator and is drained
/// before it, so that an interrupted catalog is marked while a coordinator runs.
package final class PrefetchSession: FollowingSession {
    package let name = "prefetch"

    package struct Plan: Sendable {
        package var catalog: CatalogSubmission
        package var source: ListSource
        /// The result of the first pass over `source`.
        package var list: ListSource.Reading
        package var destination: Destination
        package var reportPath: String?
        package var mediaCheck: MediaCheck?
        package var isQuiet: Bool
        /// True for a private cluster, which is polled more often than a shared one.
        package var isEmbedded: Bool
        /// True to record the volume of the site's directory now, replacing an earlier record.
        package var acceptsVolume: Bool
        /// True to end once the cluster has the whole submission.
        package var detaches: Bool
        /// True to remove the assets that the list no longer names.
        package var prunes: Bool
        /// True to request every object of a cache a second time, and to fail unless all are hits.
        package var verifies = false
        /// The list at its URL, if the cluster is to read it again and again; nil otherwise.
        package var moving: SourceSubmission?
        /// Files of a mirror that another tool made; nil for none.
        package var adoption: Adoption?

        package init(
            catalog: CatalogSubmission,
            source: ListSource,
            list: ListSource.Reading,
            destination: Destination,
            reportPath: String? = nil,
            mediaCheck: MediaCheck? = nil,
            isQuiet: Bool,
            isEmbedded: Bool,
            acceptsVolume: Bool,
            detaches: Bool,
            prunes: Bool = false
        ) {
            self.catalog = catalog
            self.source = source
            self.list = list
            self.destination = destination
            self.reportPath = reportPath
            self.mediaCheck = mediaCheck
            self.isQuiet = isQuiet
            self.isEmbedded = isEmbedded
            self.acceptsVolume = acceptsVolume
            self.detaches = detaches
            self.prunes = prunes
        }

        fileprivate func sender(_ draining: ShutdownSignal) -> ListSender {
            ListSender(source: source, list: list, adoption: adoption, draining: draining)
        }
    }

    package var messages: InterruptMessages { plan.adoption == nil ? .submission : .adoption }

    private let plan: Plan
    private let makeClient: @Sendable () throws -> CoordinatorClient
    private let display: ProgressDisplay
    package let state: SessionState

    private var follower: CatalogFollower {
        CatalogFollower(display: display, draining: state.draining, isEmbedded: plan.isEmbedded)
    }

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
        var end = try await work(client)
        if plan.verifies, case .ended(let status) = end, !state.draining.isDraining {
            try await showCache(status, client)
            display.note("requesting every object again")
            end = try await work(client, isRepeated: true)
        }
        switch end {
        case .ended(let status):
            display.end()
            try await conclude(status, client)
        case .interrupted: state.set(.interrupted)
        case .detached(let catalog):
            display.end()
            reportDetached(catalog)
            state.set(.success)
        }
    }

    /// Submits and follows; if draining starts first, marks the catalog as interrupted, unless it
    /// is detached.
    ///
    /// - Parameter isRepeated: true for the second pass of a verification, which leaves out what the
    ///   first one could not request: a POP that is down is tried once.
    private func work(
        _ client: CoordinatorClient, isRepeated: Bool = false
    ) async throws(Failure) -> FollowedEnd {
        // An absent cluster is retried only briefly: its name may be mistyped.
        try await client.readiness(retrySeconds: 3)
        try await settleVolume(client)
        let handle = try await client.openCatalog(plan.catalog)
        // Whatever becomes of this command, the cluster reads the list again.
        if let moving = plan.moving { try await client.set(moving, of: handle.id) }
        do throws(Failure) {
            try await submit(handle, client, skipsFailed: isRepeated)
            if plan.detaches, state.detachment.detach() { return .detached(handle.id) }
            if let status = try await follower.follow(handle.id, client) {
                state.detachment.end()
                return .ended(status)
            }
        } catch {
            // A failure after draining started was caused by it.
            guard state.draining.isDraining else { throw error }
        }
        guard !state.detachment.hasHappened else { return .detached(handle.id) }
        await interrupt(handle, client)
        return .interrupted
    }

    /// Names the commands for a catalog that continues without this one.
    private func reportDetached(_ catalog: CatalogID) {
        guard !plan.isQuiet else { return }
        Console.write(
            """
            \(printable(plan.catalog.name)) is catalog \(catalog); the cluster continues.
              progress:   \(CatalogHints.follow) \(catalog)
              cancel:     \(CatalogHints.stop) \(catalog)

            """)
    }

    /// Rejects a directory that is not on its site's recorded volume before the submission, or
    /// records its present volume. Only a private cluster's directories can be checked from here.
    private func settleVolume(_ client: CoordinatorClient) async throws(Failure) {
        guard plan.acceptsVolume || plan.isEmbedded else { return }
        let url = plan.catalog.storageURL
        let known = try await client.sites().sites.first { $0.storageURL == url }
        guard let known else { return }
        guard plan.acceptsVolume else {
            let request = SiteVolumeRequest(
                worker: .random(), site: known.id)
            let recorded = try await client.volume(request)
            guard let volume = recorded.recorded, try StorageURL(url).bucket == nil else { return }
            return try DirectoryStorage.check(try StorageURL(url), isOn: volume)
        }
        var settings = SiteSettings(site: url)
        settings.acceptsVolume = true
        _ = try await client.configure(settings)
    }

    /// Sends the list and starts the catalog; stops when draining starts.
    private func submit(
        _ handle: CatalogHandle, _ client: CoordinatorClient, skipsFailed: Bool
    ) async throws(Failure) {
        try await plan.sender(state.draining).send(to: [handle], client)
        let started = try await client.start(
            handle.id,
            CatalogStartRequest(
                generation: handle.generation, skipsFailed: skipsFailed ? true : nil))
        state.detachment.begin()
        display.note(
            "\(printable(plan.catalog.name)): "
                + "\(HumanFormat.count(plan.list.counts.assets, "asset")) to "
                + printable(plan.destination.path))
        if plan.prunes {
            try await prune(handle, client)
        } else if let left = started.left, left > 0 {
            let assets = HumanFormat.count(left, "asset")
            display.note(
                "\(assets) of the previous list of this name \(left == 1 ? "is" : "are") "
                    + "no longer in the catalog; use --name to keep lists apart")
        }
        if let begin = plan.catalog.notBefore, begin > SystemWallClock().nowSeconds {
            display.note("it does not start before \(TimeText.minute(ofSeconds: begin))")
        }
    }

    /// Removes the assets that the list no longer names, those of earlier lists too. The catalog
    /// ends after that.
    private func prune(
        _ handle: CatalogHandle, _ client: CoordinatorClient
    ) async throws(Failure) {
        var selection = SelectionAction(.remove, catalog: CatalogReference(handle.id))
        selection.ofLeft = true
        selection.generation = handle.generation
        let removed = try await client.apply(selection)
        guard removed.assets > 0 else { return }
        display.note(
            "removing \(HumanFormat.count(removed.assets, "asset")) that the list no longer names")
    }

    /// Marks the catalog, so that nothing starts for a submitter that is gone.
    ///
    /// Runs in its own task: a second signal cancels the session's, and the mark is still needed.
    /// It takes milliseconds, or some time after a list of millions; an absent coordinator is
    /// retried for a second.
    private func interrupt(_ handle: CatalogHandle, _ client: CoordinatorClient) async {
        do {
            try await Task { try await client.interrupt(handle.id, retrySeconds: 1) }.value
        } catch {
            display.end()
            return Console.note("the catalog could not be marked as interrupted: \(error)")
        }
        guard let path = plan.reportPath, !Task.isCancelled else { return }
        do {
            let status = try await client.status(of: handle.id, retrySeconds: 1)
            try await writer(path, status, client).write(status)
        } catch {
            display.end()
            Console.note("the report could not be written: \(error)")
        }
    }

    /// Writes the summary and the report; a failed report does not prevent the summary.
    private func conclude(_ status: CatalogStatus, _ client: CoordinatorClient) async throws {
        if !plan.isQuiet {
            var summary = RunSummary(status: status, destination: plan.destination.path)
            summary.columns = LiveLines.columns(of: STDOUT_FILENO)
            summary.waited = display.waited(of: status.id)
            if plan.list.counts.sidecars > 0 || plan.list.counts.titles > 0 {
                try? await summary.complete(client)
            }
            Console.write(summary.text)
            if let adoption = plan.adoption {
                Console.write("\n" + (try await adoption.result(of: status.id, client)))
            }
        }
        let isCached = try await concludeCache(status, client)
        if status.totals.failed > 0 {
            let page = try await client.assets(of: status.id, state: .failed)
            if plan.isQuiet {
                let total = HumanFormat.count(status.totals.assets, "asset")
                Console.note("\(HumanFormat.count(status.totals.failed)) of \(total) failed")
            }
            writeAll(
                (plan.isQuiet ? "" : "\n")
                    + RunSummary.failures(
                        page.assets, total: status.totals.failed, reportPath: plan.reportPath,
                        titles: plan.catalog.titles ?? TitleOptions()),
                to: 2)
        }
        let media = try await plan.mediaCheck?.run(status, client, draining: state.draining)
        if let media { report(media) }
        if let path = plan.reportPath {
            try await writer(path, status, client, media).write(status)
        }
        if plan.isQuiet, status.missedDeadline, let line = DeadlineText.line(status) {
            Console.note(line)
        }
        let allPlay = media?.unplayable.isEmpty ?? true
        let code = ExitCode(endOf: status) ?? .interrupted
        let isWell = code == .success || code == .deadlineMissed
        state.set(isWell && !(allPlay && isCached) ? .someFailed : code)
    }

    /// Shows the first pass of a verification.
    private func showCache(
        _ status: CatalogStatus, _ client: CoordinatorClient
    ) async throws(Failure) {
        guard !plan.isQuiet else { return }
        display.pause()
        let text = CacheText(
            try await client.cacheReport(of: status.id),
            columns: LiveLines.columns(of: STDOUT_FILENO))
        Console.write(text.table + "\n")
        display.resume()
    }

    /// Shows how a cache served the objects. Returns false if POPs served different bytes or, in a
    /// verification, an object is not cached.
    private func concludeCache(
        _ status: CatalogStatus, _ client: CoordinatorClient
    ) async throws(Failure) -> Bool {
        guard plan.destination.isCache else { return true }
        let text = CacheText(
            try await client.cacheReport(of: status.id),
            columns: LiveLines.columns(of: STDOUT_FILENO))
        if !plan.isQuiet { Console.write("\n" + text.table) }
        if text.findings > 0 {
            writeAll((plan.isQuiet ? "" : "\n") + text.list(of: status.id), to: 2)
        }
        return !text.hasDifferences && !(plan.verifies && text.findings > 0)
    }

    private func writer(
        _ path: String, _ status: CatalogStatus, _ client: CoordinatorClient,
        _ media: MediaCheck.Findings? = nil
    ) -> ReportWriter {
        var writer = ReportWriter(path: path, client: client, media: media)
        (writer.waited, writer.waits) = (
            display.waited(of: status.id), display.waits(of: status.id)
        )
        return writer
    }

    private func report(_ media: MediaCheck.Findings) {
        if !plan.isQuiet { Console.write("\n" + media.text) }
        media.list(reportPath: plan.reportPath)
    }
}
