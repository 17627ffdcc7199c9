import CoordinatorClient
import Model
import Rendering
import Services
import Text

/// Follows a catalog to its end, and shows how far it is.
struct CatalogFollower {
    let display: ProgressDisplay
    /// Ends the following.
    let draining: ShutdownSignal
    /// The private cluster is asked more often than one that others use.
    let isEmbedded: Bool
    /// All its segments are there from the beginning.
    var isRefresh = false

    /// Asks for the status until the catalog has ended; nil when the draining began first.
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
                display.showNoAnswer(Self.words(for: failure))
            }
            let elapsed = (ContinuousClock.now - began) / .seconds(1)
            // Often at first, for what is small ends soon, and when only lists of digests are left.
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

    /// How long it is worth waiting for a cluster whose workers are refused when they ask for work:
    /// an operator may be about to mend it.
    private static let mostTroubleSeconds = 60.0

    private static func check(_ status: CatalogStatus) throws(Failure) {
        guard let trouble = status.trouble, status.state == .running,
            Fault(of: trouble.code) == .workers, let seconds = status.troubleSeconds,
            seconds >= mostTroubleSeconds
        else { return }
        throw Failure(
            "cluster.noWork",
            "no worker could lease jobs for \(HumanFormat.duration(seconds: seconds)): "
                + "\(trouble.code): \(trouble.message)")
    }

    /// The party that keeps a catalog from making progress.
    private enum Fault {
        case site
        case room
        case origins
        /// None may write to the site.
        case roots
        /// They are refused when they ask for work.
        case workers

        init(of code: FailureCode) {
            guard code != "storage.outsideRoots" else {
                self = .roots
                return
            }
            switch code.row.retry {
            case .siteFault: self = .site
            case .waitsForRoom: self = .room
            case .never, .attempts: self = code.rawValue.hasPrefix("origin.") ? .origins : .workers
            }
        }
    }

    /// Describes why a catalog makes no progress.
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
            case "cluster.databaseUnreachable": "database unreachable"
            case "cluster.busy": "coordinator busy"
            default: "coordinator unreachable"
            }
        return "\(what), retrying: \(printable(failure.message)) (\(failure.code))"
    }
}
