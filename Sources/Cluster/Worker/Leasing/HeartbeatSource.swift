import Model
import Transfer

/// Collects what a heartbeat reports.
struct HeartbeatSource: Sendable {
    let worker: WorkerIdentity
    /// What the worker may write to; nil for anything.
    let roots: [String]?
    let engine: TransferEngine
    let held: HeldWork
    let tally: WorkTally
    let limits: Limits
    let sites: SitesInUse
    let excluded: ExcludedSites
    let failures: LeaseFailures

    /// What decides whether a heartbeat is due, as it is now.
    struct State: Sendable {
        var failure: Failure?
        var outsideRoots: [SiteID]?
        var done: WorkDone?
        var urgent: [LeaseID]
        var uses: Limits.Uses
    }

    func state() -> State {
        State(
            failure: failures.toReport, outsideRoots: excluded.outsideRoots,
            done: tally.news(busySeconds: held.busySeconds), urgent: held.leasesToExtend(),
            uses: limits.uses())
    }

    /// Whether coordinators are to have something at once that they do not have by `last`.
    func hasNews(_ state: State, since last: State?) -> Bool {
        (state.failure == nil) != (last?.failure == nil)
            || state.outsideRoots != last?.outsideRoots || sites.hasNews
            || held.isEmpty && state.done != nil
    }

    /// An idle worker reports now and then that it is there; one that gets no work, why; one that
    /// holds work asks what has changed for it.
    func patience(_ state: State) -> Duration {
        guard held.isEmpty else { return .seconds(1) }
        return .seconds(state.failure == nil ? WireLimits.idleHeartbeatSeconds : 10)
    }

    func heartbeat(_ state: State) -> Heartbeat {
        let (progress, active) = held.progress()
        // The others as well: the answer has what of them was cancelled.
        let leases = Array(
            (state.urgent + held.leases.filter { !state.urgent.contains($0) })
                .prefix(WireLimits.leasesPerHeartbeat))
        var heartbeat = Heartbeat(
            worker: worker.id, leases: leases, progress: progress, name: worker.name,
            activeTransfers: active, origins: originReports(), siteShares: state.uses.sites)
        heartbeat.originShares = state.uses.origins
        heartbeat.trouble = state.failure
        heartbeat.sites = sites.sightings()
        heartbeat.done = state.done
        heartbeat.roots = roots
        heartbeat.refusedSites = state.outsideRoots
        if !worker.queues.isEmpty { heartbeat.queues = worker.queues }
        return heartbeat
    }

    /// What is done at the origins that have the most to do; nil for none.
    private func originReports() -> [OriginReport]? {
        let origins = engine.origins.sorted { $0.active + $0.waiting > $1.active + $1.waiting }
        guard !origins.isEmpty else { return nil }
        return origins.prefix(WireLimits.originsPerHeartbeat).map { origin in
            OriginReport(
                origin: origin.origin, concurrency: origin.decision.concurrency,
                bytesPerSecond: Int64(origin.bytesPerSecond),
                decision: origin.decision.kind.rawValue,
                reason: String(origin.decision.reason.prefix(WireLimits.reasonCharacters)),
                active: origin.active, waiting: origin.waiting)
        }
    }

    /// A coordinator has a heartbeat.
    func reported(_ state: State) {
        if let done = state.done { tally.told(done) }
        limits.reported(state.uses)
    }

    /// No coordinator has answered a heartbeat.
    func notReported(_ heartbeat: Heartbeat) { sites.notReported(heartbeat.sites) }
}
