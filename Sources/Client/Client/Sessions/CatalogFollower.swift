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
        var totals: CatalogTotals?
        while !draining.isDraining, !Task.isCancelled {
            switch await status(of: catalog, client) {
            case .success(let status):
                display.show(status, issue: Self.issue(of: status))
                try Self.check(status)
                if status.state.isTerminal || status.state == .interrupted { return status }
                totals = isRefresh || status.waits != nil ? nil : status.totals
            case .failure(let failure):
                guard failure.code.isOfUnavailableCluster else { throw failure }
                display.showNoAnswer(Self.words(for: failure), of: catalog)
            }
            let elapsed = (ContinuousClock.now - began) / .seconds(1)
            let pace = PollPace(longest: isEmbedded && display.isShown ? 0.25 : 1)
            let interval = pace.seconds(
                elapsed: elapsed, done: totals.map { $0.segmentsDone + $0.segmentsFailed } ?? 0,
                of: totals?.segments ?? 0)
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
    private static let maxIssueSeconds = 60.0

    private static func check(_ status: CatalogStatus) throws(Failure) {
        guard let issue = status.issue, status.state == .running,
            Fault(of: issue.code) == .workers, let seconds = status.issueSeconds,
            seconds >= maxIssueSeconds
        else { return }
        throw Failure(
            .clusterNoWork,
            "no worker could lease jobs for \(HumanFormat.duration(seconds: seconds)): "
                + "\(issue.code): \(issue.message)")
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
    private static func issue(of status: CatalogStatus) -> Issues.Issue? {
        guard let issue = status.issue, status.state == .running else { return nil }
        let message = printable(issue.message)
        return switch Fault(of: issue.code) {
        case .site:
            Issues.Issue(
                text: "the site is not writable, its jobs wait: "
                    + SiteFailureText.text(ofFault: issue) + ". "
                    + SiteFailureText.hint(ofFault: issue, at: status.queue),
                relief: "the site is writable again")
        case .room:
            Issues.Issue(
                text: "the remaining jobs wait for space: "
                    + SiteFailureText.text(ofFault: issue),
                relief: "jobs that waited for space continue")
        case .roots:
            Issues.Issue(
                text: "no worker may write to the site, its jobs wait for a worker with --root: "
                    + SiteFailureText.text(ofFault: issue),
                relief: "a worker may write to the site")
        case .origins:
            Issues.Issue(
                text: "no data from \(message): \(issue.code); retrying, see `dray origins`",
                relief: "the origins respond again")
        case .workers:
            Issues.Issue(
                text: "no worker can lease jobs: \(message) (\(issue.code))",
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
