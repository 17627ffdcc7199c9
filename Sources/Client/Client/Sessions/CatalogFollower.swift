import API
import CoordinatorClient
import Model
import Rendering
import Services
import Text

/// Follows a catalog to its end, and shows its progress.
struct CatalogFollower {
    let display: ProgressDisplay
    /// Ends the following.
    let draining: ShutdownSignal
    /// True for a private cluster, which is polled more often than a shared one.
    let isEmbedded: Bool
    /// True for a refresh, whose segments are all known from the start.
    var isRefresh = false

    /// Polls the status until the catalog has ended; returns nil if draining started first.
    func follow(
        _ catalog: CatalogID, _ client: CoordinatorClient
    ) async throws(Failure) -> CatalogStatus? {
        let began = ContinuousClock.now
        var isNearlyDone = false
        while !draining.isDraining, !Task.isCancelled {
            switch await status(of: catalog, client) {
            case .success(let status):
                display.show(status, trouble: Self.trouble(of: status))
                try Self.check(status)
                if status.state.isTerminal || status.state == .interrupted { return status }
                let totals = status.totals
                let lacking = totals.segments - totals.segmentsDone - totals.segmentsFailed
                isNearlyDone =
                    !isRefresh && status.waits == nil && lacking <= totals.segments / 20
            case .failure(let failure):
                guard failure.code.isOfUnavailableCluster else { throw failure }
                display.showNoAnswer(Self.words(for: failure), of: catalog)
            }
            let elapsed = (ContinuousClock.now - began) / .seconds(1)
            // Often at first, because small catalogs end soon, and again when few segments are
            // left.
            let patience = isNearlyDone ? 0.05 : 0.05 + elapsed / 20
            let interval = min(isEmbedded ? 0.25 : 1, patience)
            _ = await draining.wait(atMost: .seconds(interval))
        }
        return nil
    }

    private func status(
        of catalog: CatalogID, _ client: CoordinatorClient
    ) async -> Result<CatalogStatus, Failure> {
        do throws(Failure) {
            return .success(
                try await client.status(
                    of: catalog, withActive: display.showsAssets, retrySeconds: 0.01))
        } catch {
            return .failure(error)
        }
    }

    /// Seconds to wait for a cluster that rejects its workers' lease requests: an operator may be
    /// repairing it.
    private static let maxTroubleSeconds = 60.0

    private static func check(_ status: CatalogStatus) throws(Failure) {
        guard let trouble = status.trouble, status.state == .running,
            Fault(of: trouble.code) == .workers, let seconds = status.troubleSeconds,
            seconds >= maxTroubleSeconds
        else { return }
        throw Failure(
            .clusterNoWork,
            "no worker could lease jobs for \(HumanFormat.duration(seconds: seconds)): "
                + "\(trouble.code): \(trouble.message)")
    }

    /// The cause that blocks a catalog.
    private enum Fault {
        case site
        case room
        case origins
        /// No worker may write to the site.
        case roots
        /// Coordinators reject the workers' lease requests.
        case workers

        init(of code: FailureCode) {
            guard code != .storageOutsideRoots else {
                self = .roots
                return
            }
            switch code.row.retry {
            case .siteFault: self = .site
            case .waitsForSpace: self = .room
            case .never, .attempts: self = code.family == "origin" ? .origins : .workers
            }
        }
    }

    /// Describes the failure that blocks a catalog; nil for none.
    private static func trouble(of status: CatalogStatus) -> Troubles.Trouble? {
        guard let trouble = status.trouble, status.state == .running else { return nil }
        let message = printable(trouble.message)
        return switch Fault(of: trouble.code) {
        case .site:
            Troubles.Trouble(
                text: "the site is not writable, its jobs wait: "
                    + SiteFailureText.text(ofFault: trouble) + ". "
                    + SiteFailureText.hint(ofFault: trouble, at: status.queue),
                relief: "the site is writable again")
        case .room:
            Troubles.Trouble(
                text: "the remaining jobs wait for space: "
                    + SiteFailureText.text(ofFault: trouble),
                relief: "jobs that waited for space continue")
        case .roots:
            Troubles.Trouble(
                text: "no worker may write to the site, its jobs wait for a worker with --root: "
                    + SiteFailureText.text(ofFault: trouble),
                relief: "a worker may write to the site")
        case .origins:
            Troubles.Trouble(
                text: "no data from \(message): \(trouble.code); retrying",
                relief: "the origins respond again")
        case .workers:
            Troubles.Trouble(
                text: "no worker can lease jobs: \(message) (\(trouble.code))",
                relief: "workers lease jobs again")
        }
    }

    private static func words(for failure: Failure) -> String {
        let what =
            switch failure.code {
            case .clusterDatabaseUnreachable, .clusterDatabaseCertificate: "database unreachable"
            case .clusterBusy: "coordinator busy"
            default: "coordinator unreachable"
            }
        return "\(what), retrying: \(printable(failure.message)) (\(failure.code))"
    }
}
