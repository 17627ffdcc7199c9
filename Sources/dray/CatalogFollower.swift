import CoordinatorClient
import Model
import Runtime

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
                if let trouble = status.trouble, status.state == .running,
                    case .siteFault = trouble.code.row.retry
                {
                    display.showTrouble(
                        "the site cannot be written, its work waits: "
                            + QueueCommand.text(ofFault: trouble), status,
                        relief: "the site can be written again")
                } else if let trouble = status.trouble, status.state == .running,
                    trouble.code.row.retry == .waitsForRoom
                {
                    display.showTrouble(
                        "what is left waits for room: " + QueueCommand.text(ofFault: trouble),
                        status,
                        relief: "what waited for room goes on")
                } else if let trouble = status.trouble, status.state == .running,
                    trouble.code.rawValue.hasPrefix("origin.")
                {
                    display.showTrouble(
                        "nothing comes from \(printable(trouble.message)): \(trouble.code.rawValue); it is "
                            + "tried again", status,
                        relief: "what was asked for comes again")
                } else if let trouble = status.trouble, status.state == .running {
                    display.showTrouble(
                        "no worker can get work: \(printable(trouble.message))", status,
                        relief: "the workers get work again")
                    try Self.check(trouble, seconds: status.troubleSeconds ?? 0)
                } else {
                    display.show(status)
                }
                if status.state.isTerminal || status.state == .interrupted { return status }
                let totals = status.totals
                let lacking = totals.segments - totals.segmentsDone - totals.segmentsFailed
                isNearlyDone = !isRefresh && lacking <= totals.segments / 20
            case .failure(let failure):
                guard Self.mayPass(failure.code) else { throw failure }
                display.showTrouble(Self.trouble(failure))
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

    private static func check(_ trouble: Failure, seconds: Double) throws(Failure) {
        guard seconds >= mostTroubleSeconds else { return }
        throw Failure(
            "cluster.noWork",
            "no worker could get work for \(HumanFormat.duration(seconds: seconds)): "
                + "\(trouble.code.rawValue): \(trouble.message)")
    }

    private static func trouble(_ failure: Failure) -> String {
        let what =
            switch failure.code {
            case "cluster.databaseUnreachable": "database unreachable"
            case "cluster.busy": "coordinator busy"
            default: "coordinator unreachable"
            }
        return "\(what), trying again: \(printable(failure.message))"
    }

    private static func mayPass(_ code: FailureCode) -> Bool {
        let passing: [FailureCode] = [
            "cluster.coordinatorUnreachable", "cluster.databaseUnreachable", "cluster.busy",
        ]
        return passing.contains(code)
    }
}
