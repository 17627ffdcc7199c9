import API
import Model
import Transfer

/// Collects the contents of heartbeats.
struct HeartbeatSource: Sendable {
    let worker: WorkerIdentity
    /// Directories that the worker may write to; nil for any.
    let roots: [String]?
    let engine: TransferEngine
    let held: HeldWork
    let surplus: SurplusJobs
    let tally: WorkTally
    let limits: Limits
    let sites: SitesInUse
    let excluded: ExcludedSites
    let failures: LeaseFailures

    /// The current state that decides if a heartbeat is due.
    struct State: Sendable {
        var failure: Failure?
        var outsideRoots: [SiteID]?
        var done: WorkDone?
        var runs: [RunWork]
        var urgent: [LeaseID]
        var uses: Limits.Uses
        var idleConnections: Int
        var surplusJobs: Int
    }

    func state() -> State {
        State(
            failure: failures.toReport, outsideRoots: excluded.outsideRoots,
            done: tally.unreported(busySeconds: held.busySeconds), runs: tally.runs.unreported(),
            urgent: held.leasesToExtend(),
            uses: limits.uses(), idleConnections: surplus.idleConnections(),
            surplusJobs: surplus.count())
    }

    /// Returns true if coordinators must learn at once of a change since `last`.
    func hasUnreported(_ state: State, since last: State?) -> Bool {
        (state.failure == nil) != (last?.failure == nil)
            || state.outsideRoots != last?.outsideRoots || sites.hasUnreported
            || state.idleConnections > 0 && (last?.idleConnections ?? 0) == 0
            || held.isEmpty && state.idleConnections == 0 && (last?.idleConnections ?? 0) > 0
            || surplus.isLarge(state.surplusJobs) && !surplus.isLarge(last?.surplusJobs ?? 0)
            || held.isEmpty && (state.done != nil || !state.runs.isEmpty)
    }

    /// Returns the time between heartbeats, of which `last` was the last one. An idle worker reports
    /// that it lives, one without work its failure; one with work polls for changes to its jobs, more
    /// often while others could begin some of them, and soonest once there are such jobs.
    func patience(_ state: State, since last: State?) -> Duration {
        guard held.isEmpty else {
            guard state.surplusJobs > 0 else { return .seconds(1) }
            return .milliseconds((last?.surplusJobs ?? 0) == 0 ? 200 : 500)
        }
        return .seconds(state.failure == nil ? WireLimits.idleHeartbeatSeconds : 10)
    }

    func heartbeat(_ state: State) -> Heartbeat {
        let (progress, active) = held.progress()
        // The other leases too: the answer lists their cancelled jobs.
        let leases = Array(
            (state.urgent + held.leases.filter { !state.urgent.contains($0) })
                .prefix(WireLimits.leasesPerHeartbeat))
        var heartbeat = Heartbeat(
            worker: worker.id, leases: leases, progress: progress, name: worker.name,
            activeTransfers: active, origins: originReports(), siteShares: state.uses.sites)
        heartbeat.originShares = state.uses.origins
        heartbeat.idleConnections = state.idleConnections > 0 ? state.idleConnections : nil
        heartbeat.surplusJobs = state.surplusJobs > 0 ? state.surplusJobs : nil
        heartbeat.issue = state.failure
        heartbeat.sites = sites.siteReports()
        heartbeat.done = state.done
        if !state.runs.isEmpty { heartbeat.runs = state.runs }
        heartbeat.roots = roots
        heartbeat.refusedSites = state.outsideRoots
        heartbeat.version = drayVersion
        if !worker.queues.isEmpty { heartbeat.queues = worker.queues }
        return heartbeat
    }

    /// Reports on the origins with the most requests; nil for none.
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

    /// Records that a coordinator received a heartbeat.
    func reported(_ state: State) {
        if let done = state.done { tally.reported(done) }
        tally.runs.reported(state.runs)
        limits.reported(state.uses)
    }

    /// Records that no coordinator answered a heartbeat.
    func notReported(_ heartbeat: Heartbeat) { sites.notReported(heartbeat.sites) }
}
