package import API
import CommandLine
package import CoordinatorClient
package import ListSources
import Lists
import Model
import Rendering
import Services
import Text

/// Submits a checked list to several sites of a cluster, follows its catalogs to their ends and
/// reports the results.
///
/// Each site gets a catalog of the same name. All but the first one are filled from those before it,
/// where these serve their files.
package final class SitesSession: FollowingSession {
    package let name = "prefetch"
    package let messages = InterruptMessages.submission

    package struct Plan: Sendable {
        /// The catalog of every site; its storage URL is ignored.
        var catalog: CatalogSubmission
        var sites: SiteNames
        var source: ListSource
        /// The result of the first pass over `source`.
        var list: ListSource.Reading
        /// Each site's report gets its name before the extension.
        var reportPath: String?
        var isQuiet: Bool
        /// True to end once the cluster has the whole submission.
        var detaches: Bool
        /// True to remove the assets that the list no longer names.
        var prunes: Bool

        package init(
            catalog: CatalogSubmission, sites: SiteNames, source: ListSource,
            list: ListSource.Reading, reportPath: String?, isQuiet: Bool, detaches: Bool,
            prunes: Bool
        ) {
            self.catalog = catalog
            self.sites = sites
            self.source = source
            self.list = list
            self.reportPath = reportPath
            self.isQuiet = isQuiet
            self.detaches = detaches
            self.prunes = prunes
        }
    }

    /// The catalog of one site.
    private struct SiteCatalog: Sendable {
        var site: SiteStatus
        var handle: CatalogHandle
    }

    private let plan: Plan
    private let makeClient: @Sendable () throws -> CoordinatorClient
    private let display: ProgressDisplay
    package let state = SessionState(isEmbedded: false)

    package init(
        _ plan: Plan, display: ProgressDisplay,
        makeClient: @escaping @Sendable () throws -> CoordinatorClient
    ) {
        self.plan = plan
        self.display = display
        self.makeClient = makeClient
    }

    package func run() async throws {
        state.begin()
        defer { state.end() }
        let client = try makeClient()
        defer { client.shutdown() }
        defer { display.end() }
        try await client.readiness(retrySeconds: 3)
        let sites = try await plan.sites.sites(client)
        if let cache = sites.first(where: { $0.storageURL.hasPrefix("cache:") }) {
            throw Failure(
                .inputCacheSite,
                "--site: \(printable(cache.queue)) is a cache; warm it with --to, in a run of its own"
            )
        }
        let catalogs = try await open(sites, client)
        do {
            try await submit(catalogs, client)
            if plan.detaches, state.detachment.detach() { return detached(catalogs) }
            let ends = try await follow(catalogs, client)
            if ends.count == catalogs.count {
                state.detachment.end()
                display.end()
                return try await conclude(zip(catalogs, ends).map { ($0, $1) }, client)
            }
        } catch {
            // A failure after draining started was caused by it.
            guard state.draining.isDraining else { throw error }
        }
        guard !state.detachment.hasHappened else { return detached(catalogs) }
        await interrupt(catalogs, client)
        state.set(.interrupted)
    }

    // MARK: Submission

    /// Opens the catalogs of all sites before any of them gets an asset.
    private func open(
        _ sites: [SiteStatus], _ client: CoordinatorClient
    ) async throws(Failure) -> [SiteCatalog] {
        var catalogs: [SiteCatalog] = []
        for site in sites {
            var submission = plan.catalog
            submission.storageURL = site.storageURL
            let neighbours = catalogs.map(\.site.storageURL)
            submission.neighbours = neighbours.isEmpty ? nil : neighbours
            let handle = try await client.openCatalog(submission)
            catalogs.append(SiteCatalog(site: site, handle: handle))
            if sites.count > 1 { display.add(handle.id, at: site.queue) }
        }
        return catalogs
    }

    private func submit(
        _ catalogs: [SiteCatalog], _ client: CoordinatorClient
    ) async throws(Failure) {
        let sender = ListSender(source: plan.source, list: plan.list, draining: state.draining)
        try await sender.send(to: catalogs.map(\.handle), client)
        // The others look which assets the first one has begun.
        for catalog in catalogs {
            _ = try await client.start(
                catalog.handle.id, CatalogStartRequest(generation: catalog.handle.generation))
        }
        state.detachment.begin()
        let names = catalogs.map { printable($0.site.queue) }.joined(separator: ", ")
        display.note(
            "\(printable(plan.catalog.name)): "
                + "\(HumanFormat.count(plan.list.counts.assets, "asset")) to \(names)")
        for catalog in catalogs.dropLast() where catalog.site.serves == nil {
            let name = printable(catalog.site.queue)
            display.note(
                "\(name) serves no files to other sites, which fetch from the origins; "
                    + "`dray site set \(name) --serves URL` lets them fetch from it")
        }
        guard plan.prunes else { return }
        for catalog in catalogs {
            var selection = SelectionAction(
                .remove, catalog: CatalogReference(catalog.handle.id))
            selection.ofLeft = true
            selection.generation = catalog.handle.generation
            let removed = try await client.apply(selection)
            guard removed.assets > 0 else { continue }
            display.note(
                "\(printable(catalog.site.queue)): removing "
                    + "\(HumanFormat.count(removed.assets, "asset")) that the list no longer names"
            )
        }
    }

    // MARK: The end

    /// Follows all catalogs at once; returns fewer ends than catalogs if draining started first.
    private func follow(
        _ catalogs: [SiteCatalog], _ client: CoordinatorClient
    ) async throws -> [CatalogStatus] {
        let follower = CatalogFollower(
            display: display, draining: state.draining, isEmbedded: false)
        return try await withThrowingTaskGroup(of: (Int, CatalogStatus?).self) { group in
            for (index, catalog) in catalogs.enumerated() {
                group.addTask { (index, try await follower.follow(catalog.handle.id, client)) }
            }
            var ends: [Int: CatalogStatus] = [:]
            for try await (index, status) in group { ends[index] = status }
            return catalogs.indices.compactMap { ends[$0] }
        }
    }

    /// Prints the summary of each site and writes its report; sets the exit code.
    private func conclude(
        _ ends: [(catalog: SiteCatalog, status: CatalogStatus)], _ client: CoordinatorClient
    ) async throws {
        let hasDetails = plan.list.counts.sidecars > 0 || plan.list.counts.titles > 0
        for (index, (catalog, status)) in ends.enumerated() {
            let path = reportPath(of: catalog.site)
            if !plan.isQuiet {
                var summary = RunSummary(status: status, destination: catalog.site.queue)
                summary.columns = LiveLines.columns(of: 1)
                summary.waited = display.waited(of: status.id)
                if hasDetails { try? await summary.complete(client) }
                Console.write((index > 0 ? "\n" : "") + summary.text)
            }
            if status.totals.failed > 0 {
                let page = try await client.assets(of: status.id, state: .failed)
                let total = HumanFormat.count(status.totals.assets, "asset")
                Console.note(
                    "\(printable(catalog.site.queue)): "
                        + "\(HumanFormat.count(status.totals.failed)) of \(total) failed")
                writeAll(
                    RunSummary.failures(
                        page.assets, total: status.totals.failed, reportPath: path,
                        titles: plan.catalog.titles ?? TitleOptions()), to: 2)
            }
            if plan.isQuiet, status.missedDeadline, let line = DeadlineText.line(status) {
                Console.note("\(printable(catalog.site.queue)): \(line)")
            }
            if let path { try await writer(path, status, client).write(status) }
        }
        state.set(Self.exitCode(ends.map(\.status)))
    }

    /// Returns the first of these codes that a catalog ended with.
    private static func exitCode(_ ends: [CatalogStatus]) -> ExitCode {
        let codes = Set(ends.map { ExitCode(endOf: $0) ?? .interrupted })
        let order: [ExitCode] = [.interrupted, .someFailed, .cancelled, .deadlineMissed]
        return order.first { codes.contains($0) } ?? .success
    }

    private func writer(
        _ path: String, _ status: CatalogStatus, _ client: CoordinatorClient
    ) -> ReportWriter {
        var writer = ReportWriter(path: path, client: client)
        (writer.waited, writer.waits) = (
            display.waited(of: status.id), display.waits(of: status.id)
        )
        return writer
    }

    /// Returns `run.NAME.json` for `run.json`.
    private func reportPath(of site: SiteStatus) -> String? {
        plan.reportPath.map { path in
            let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
            guard let dot = path[name...].lastIndex(of: "."), dot > name else {
                return "\(path).\(site.queue)"
            }
            return "\(path[..<dot]).\(site.queue)\(path[dot...])"
        }
    }

    private func detached(_ catalogs: [SiteCatalog]) {
        display.end()
        state.set(.success)
        guard !plan.isQuiet else { return }
        let name = printable(plan.catalog.name)
        for catalog in catalogs {
            Console.write(
                """
                \(name) at \(printable(catalog.site.queue)) is catalog \(catalog.handle.id); the cluster continues.
                  progress:   \(CatalogHints.follow) \(catalog.handle.id)
                  cancel:     \(CatalogHints.stop) \(catalog.handle.id)

                """)
        }
    }

    /// Marks the catalogs, in a task of its own: a second signal cancels the session's.
    private func interrupt(_ catalogs: [SiteCatalog], _ client: CoordinatorClient) async {
        for catalog in catalogs {
            do {
                try await Task {
                    try await client.interrupt(catalog.handle.id, retrySeconds: 1)
                }.value
            } catch {
                display.end()
                Console.note(
                    "catalog \(catalog.handle.id) could not be marked as interrupted: \(error)")
            }
        }
    }
}
