import API
import Model
import Synchronization
import Transfer

/// The leases of a worker, with their deadlines on its own clock, and the jobs under each. Safe
/// from any thread.
///
/// A job's key includes its lease. A job that was lost and leased again is another entry, and late
/// results of the first attempt do not affect it.
final class HeldWork: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The conditions that tasks can wait for.
    enum Condition {
        case isEmpty
        case holdsWork
        /// No job is left to download.
        case nothingPending
        /// The engine has the transfers of all jobs that need a connection.
        case nothingStarting
    }

    private struct State {
        var leases: [LeaseID: HeldLease] = [:]
        var waiters: [Int: (condition: Condition, continuation: CheckedContinuation<Void, Never>)] =
            [:]
        var lastWaiter = 0
        var count = 0
        var pending = 0 {
            didSet {
                guard (pending > 0) != (oldValue > 0) else { return }
                let now = Instant.now
                if let busySince { busy += now - busySince }
                busySince = pending > 0 ? now : nil
            }
        }
        /// Jobs that have or need a connection.
        var fetching = 0
        /// Those whose transfers the engine does not have yet.
        var starting = 0
        var cancelled = 0
        /// Time with jobs to download, up to `busySince`, which is set while there are any.
        var busy = Duration.zero
        var busySince: Instant?
        /// Bytes of sites' space that ended jobs used since the worker started.
        var endedBytes: [SiteID: Int64] = [:]

        func meets(_ condition: Condition) -> Bool {
            switch condition {
            case .isEmpty: count == 0
            case .holdsWork: count > 0
            case .nothingPending: pending == 0
            case .nothingStarting: starting == 0
            }
        }

        /// Removes and returns the waiters whose conditions are met.
        mutating func takeReady() -> [CheckedContinuation<Void, Never>] {
            guard !waiters.isEmpty else { return [] }
            let ready = waiters.filter { meets($0.value.condition) }
            for number in ready.keys { waiters[number] = nil }
            return ready.values.map(\.continuation)
        }

        private mutating func add(ended entry: HeldJob, at site: SiteID) {
            let taken = entry.takenBytes
            if taken > 0 { endedBytes[site, default: 0] += taken }
        }

        mutating func remove(_ job: JobID, _ lease: LeaseID) {
            guard let entry = leases[lease]?.entries.removeValue(forKey: job),
                let site = leases[lease]?.site
            else { return }
            add(ended: entry, at: site)
            count -= 1
            if entry.isPending { pending -= 1 }
            if entry.needsConnection { fetching -= 1 }
            if entry.isStarting { starting -= 1 }
            if entry.isCancelled { cancelled -= 1 }
            if leases[lease]?.entries.isEmpty == true { leases[lease] = nil }
        }

        mutating func received(_ job: JobID, _ lease: LeaseID) {
            guard let entry = leases[lease]?.entries[job], entry.needsConnection else { return }
            if entry.isStarting { starting -= 1 }
            leases[lease]?.entries[job]?.needsConnection = false
            fetching -= 1
        }

        mutating func remove(_ lease: LeaseID) {
            guard let gone = leases.removeValue(forKey: lease) else { return }
            for entry in gone.entries.values { add(ended: entry, at: gone.site) }
            count -= gone.entries.count
            pending -= gone.entries.values.count { $0.isPending }
            fetching -= gone.entries.values.count { $0.needsConnection }
            starting -= gone.entries.values.count { $0.isStarting }
            cancelled -= gone.entries.values.count { $0.isCancelled }
        }
    }

    private let state = Mutex(State())
    /// Wakes `nextLost`: a lease may end earlier than the others.
    let changes = Wakeup()

    /// Changes the state, and resumes the waiters whose conditions are met.
    private func update<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        let (result, ready) = state.withLock { state in
            let result = change(&state)
            return (result, state.takeReady())
        }
        for continuation in ready { continuation.resume() }
        return result
    }

    /// Waits until a condition is met or the task is cancelled.
    func waitUntil(_ condition: Condition) async {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // The cancellation handler may have run before this; it found no waiter then.
                    if state.meets(condition) || Task.isCancelled { return true }
                    state.waiters[number] = (condition, continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number)?.continuation }?.resume()
        }
    }

    /// Number of jobs that are not downloaded yet.
    var pendingCount: Int { state.withLock { $0.pending } }
    /// Number of jobs that have or need a connection, and of the other pending ones.
    var pendingCounts: (fetching: Int, others: Int) {
        state.withLock { ($0.fetching, $0.pending - $0.fetching) }
    }
    /// Number of jobs that need a connection and whose transfers the engine does not have yet.
    var startingCount: Int { state.withLock(\.starting) }
    /// Seconds with jobs to download since the worker started.
    var busySeconds: Double {
        state.withLock { state in
            let busy = state.busy + (state.busySince.map { Instant.now - $0 } ?? .zero)
            return busy / .seconds(1)
        }
    }
    /// Number of all jobs, including those to be stored or reported.
    var count: Int { state.withLock { $0.count } }
    var leases: [LeaseID] { state.withLock { Array($0.leases.keys) } }
    /// Time at which the first lease counts as lost; nil without leases.
    var nextEnd: Instant? { state.withLock { $0.leases.values.lazy.map(\.end).min() } }
    /// The sites of the jobs.
    var sites: Set<SiteID> { state.withLock { Set($0.leases.values.lazy.map(\.site)) } }

    /// Adds a grant; its time counts from `askedAt`, before the request was sent.
    func add(
        _ lease: LeaseID, _ jobs: [Job], at site: SiteID, seconds: Double, askedAt: Instant
    ) {
        update { state in
            state.remove(lease)
            let entries = jobs.map {
                (
                    $0.id,
                    HeldJob(
                        asset: $0.asset, isPart: $0.isOfMultipartFile,
                        needsConnection: $0.kind == .fetch)
                )
            }
            state.leases[lease] = HeldLease(
                deadline: askedAt + .seconds(seconds), grantedAt: askedAt, site: site,
                entries: Dictionary(entries) { first, _ in first })
            let count = state.leases[lease]?.entries.count ?? 0
            state.count += count
            state.pending += count
            let fetching = state.leases[lease]?.entries.values.count { $0.needsConnection } ?? 0
            state.fetching += fetching
            state.starting += fetching
        }
        changes.wake()
    }

    func setTransfer(_ transfer: Transfer, of job: JobID, _ lease: LeaseID) {
        update { state in
            if state.leases[lease]?.entries[job]?.isStarting == true { state.starting -= 1 }
            state.leases[lease]?.entries[job]?.transfer = transfer
        }
    }

    /// Records that a job's body was received; sending it to a bucket may follow.
    func received(_ job: JobID, _ lease: LeaseID) {
        update { $0.received(job, lease) }
    }

    /// Records that a job's download has ended.
    func downloaded(_ job: JobID, _ lease: LeaseID) {
        update { state in
            guard state.leases[lease]?.entries[job]?.isPending == true else { return }
            state.leases[lease]?.entries[job]?.isPending = false
            state.pending -= 1
            state.received(job, lease)
        }
    }

    /// Returns true if there is time to write and report under the lease.
    func isHeld(_ lease: LeaseID, now: Instant = .now) -> Bool {
        state.withLock { state in
            guard let lease = state.leases[lease] else { return false }
            return now < lease.end
        }
    }

    /// Removes jobs that are reported or that other workers report.
    func remove(_ jobs: some Sequence<(job: JobID, lease: LeaseID)>) {
        update { state in
            for (job, lease) in jobs { state.remove(job, lease) }
        }
    }

    /// Marks jobs as cancelled and returns those held here, by lease, for the caller to stop.
    func cancel(_ jobs: some Sequence<JobID>) -> [LeaseID: Set<JobID>] {
        state.withLock { state in
            var held: [LeaseID: Set<JobID>] = [:]
            for job in jobs {
                for lease in state.leases.keys {
                    guard state.leases[lease]?.entries[job]?.isCancelled == false else { continue }
                    state.leases[lease]?.entries[job]?.isCancelled = true
                    state.cancelled += 1
                    held[lease, default: []].insert(job)
                }
            }
            return held
        }
    }

    /// Returns those of `jobs` that are held here and still to be downloaded, by lease.
    func pending(of jobs: some Sequence<JobID>) -> [LeaseID: Set<JobID>] {
        state.withLock { state in
            var pending: [LeaseID: Set<JobID>] = [:]
            for job in jobs {
                for (id, lease) in state.leases where lease.entries[job]?.isPending == true {
                    pending[id, default: []].insert(job)
                }
            }
            return pending
        }
    }

    func isCancelled(_ job: JobID, _ lease: LeaseID) -> Bool {
        state.withLock { state in
            state.cancelled > 0 && state.leases[lease]?.entries[job]?.isCancelled == true
        }
    }

    /// Returns the results of jobs that were not cancelled, and removes the cancelled jobs.
    func withoutCancelled(_ results: [JobReport]) -> [JobReport] {
        update { state in
            guard state.cancelled > 0 else { return results }
            return results.filter { result in
                let entry = state.leases[result.lease]?.entries[result.job]
                guard entry?.isCancelled == true else { return true }
                state.remove(result.job, result.lease)
                return false
            }
        }
    }

    /// Returns the leases that need a heartbeat: a third of their time has passed.
    func leasesToExtend(now: Instant = .now) -> [LeaseID] {
        state.withLock { state in
            state.leases.filter { _, lease in
                now - lease.grantedAt > lease.length / 3
            }.map(\.key)
        }
    }

    func extend(_ leases: some Sequence<LeaseID>, seconds: Double, askedAt: Instant) {
        state.withLock { state in
            for lease in leases {
                state.leases[lease]?.grantedAt = askedAt
                state.leases[lease]?.deadline = askedAt + .seconds(seconds)
            }
        }
        changes.wake()
    }

    /// Drops lost leases: those that `isLost` selects, and those expired by this clock. Returns
    /// them; the caller must cancel their transfers.
    func dropLost(now: Instant = .now, _ isLost: (LeaseID) -> Bool = { _ in false }) -> [LeaseID] {
        update { state in
            let lost = state.leases.filter { isLost($0.key) || now >= $0.value.end }.map(\.key)
            for lease in lost { state.remove(lease) }
            return lost
        }
    }

    /// Sets the expected size of a job's body; ignores nil.
    func setExpected(_ bytes: Int64?, of job: JobID, _ lease: LeaseID) {
        guard let bytes else { return }
        state.withLock { $0.leases[lease]?.entries[job]?.expectedBytes = bytes }
    }

    /// Returns the expected size of a job's body; nil if unknown.
    func expectedBytes(of job: JobID, _ lease: LeaseID) -> Int64? {
        state.withLock { $0.leases[lease]?.entries[job]?.expectedBytes }
    }

    /// Sets the bytes that a job reserves of its site's space; nil to count the received bytes.
    func setBegun(_ bytes: Int64?, of job: JobID, _ lease: LeaseID) {
        state.withLock { $0.leases[lease]?.entries[job]?.begunBytes = bytes }
    }

    /// Records that a coordinator knows the space of a multipart file.
    func setReported(_ job: JobID, _ lease: LeaseID) {
        state.withLock { state in
            guard let site = state.leases[lease]?.site,
                let entry = state.leases[lease]?.entries[job], entry.takenBytes > 0
            else { return }
            state.endedBytes[site, default: 0] += entry.takenBytes
            state.leases[lease]?.entries[job]?.begunBytes = 0
            state.leases[lease]?.entries[job]?.isPart = true
        }
    }

    /// Bytes of sites' space that ended jobs used; the counts only grow.
    var endedBytes: [SiteID: Int64] { state.withLock { $0.endedBytes } }

    /// Returns the bytes used of a site's space that a coordinator may not know as stored. `ended`
    /// is the value of `endedBytes` when the coordinator was asked.
    func unreportedBytes(at site: SiteID, since ended: [SiteID: Int64]) -> Int64 {
        state.withLock { state in
            state.leases.values.lazy.filter { $0.site == site }.flatMap(\.entries.values)
                .reduce(state.endedBytes[site, default: 0]) { $0 + $1.takenBytes }
                - ended[site, default: 0]
        }
    }

    /// Returns the progress of started transfers by asset, and their number, before a byte too.
    func progress() -> (byAsset: [String: TransferProgress], active: Int) {
        state.withLock { state in
            var (progress, active): ([String: TransferProgress], Int) = ([:], 0)
            for entry in state.leases.values.lazy.flatMap(\.entries.values) {
                guard let transfer = entry.transfer else { continue }
                // The report that gives one back finds here what is kept of it.
                let isStopped = transfer.state == .failed && !entry.isCancelled
                guard entry.isPending || isStopped else { continue }
                let received = transfer.receivedBytes
                guard received > 0 || transfer.state.isAtOrigin else { continue }
                var asset = progress[entry.asset.description] ?? TransferProgress()
                if entry.isPending { active += 1 }
                defer { progress[entry.asset.description] = asset }
                guard received > 0 else {
                    asset.waiting = (asset.waiting ?? 0) + 1
                    continue
                }
                asset.receivedBytes += received
                let resumed = min(transfer.resumedBytes, received)
                if resumed > 0 { asset.resumedBytes = (asset.resumedBytes ?? 0) + resumed }
                let expected = max(entry.expectedBytes ?? 0, received)
                asset.expectedBytes += expected
                if entry.isPart { asset.partBytes = (asset.partBytes ?? 0) + expected }
                asset.transfers += 1
            }
            return (progress, active)
        }
    }

    /// Returns the transfers without a connection yet, of one site or of all.
    func queuedTransfers(of site: SiteID? = nil) -> [Transfer] {
        state.withLock { state in
            state.leases.values.filter { site == nil || $0.site == site }
                .flatMap(\.entries.values).compactMap(\.transfer).filter { $0.state == .queued }
        }
    }
}
