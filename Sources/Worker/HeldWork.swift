import Model
import Synchronization
import Transfer

/// What a worker holds: its leases with their deadlines on its own clock, and the jobs under each.
/// Safe from any thread.
final class HeldWork: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Lease {
        /// When the coordinator may give the jobs to somebody else, at the earliest.
        var deadline: Instant
        var grantedAt: Instant
        var jobs: Set<JobID>
    }

    private struct Entry {
        var asset: AssetID
        var transfer: Transfer?
        /// Still to be downloaded, as against to be stored or reported.
        var isPending = true
    }

    private struct State {
        var leases: [LeaseID: Lease] = [:]
        var entries: [JobID: Entry] = [:]
        var pending = 0
    }

    private let state = Mutex(State())

    /// Time that is left for writes and reports before a lease is given up.
    static let margin = Duration.seconds(2)

    /// Jobs that are not downloaded yet.
    var pendingCount: Int { state.withLock { $0.pending } }
    var leases: [LeaseID] { state.withLock { Array($0.leases.keys) } }
    var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    /// Takes a grant; its time counts from `askedAt`, before the request was sent.
    func add(_ lease: LeaseID, _ jobs: [Job], seconds: Double, askedAt: Instant) {
        state.withLock { state in
            state.leases[lease] = Lease(
                deadline: askedAt + .seconds(seconds), grantedAt: askedAt,
                jobs: Set(jobs.map(\.id)))
            for job in jobs { state.entries[job.id] = Entry(asset: job.asset) }
            state.pending += jobs.count
        }
    }

    func setTransfer(_ transfer: Transfer, of job: JobID) {
        state.withLock { $0.entries[job]?.transfer = transfer }
    }

    /// The job needs no more of the network.
    func downloaded(_ job: JobID) {
        state.withLock { state in
            guard state.entries[job]?.isPending == true else { return }
            state.entries[job]?.isPending = false
            state.pending -= 1
        }
    }

    /// Whether there is time to write and report under the lease.
    func isHeld(_ lease: LeaseID, now: Instant = .now) -> Bool {
        state.withLock { state in
            guard let lease = state.leases[lease] else { return false }
            return now + Self.margin < lease.deadline
        }
    }

    /// The jobs are reported, or no longer this worker's to report.
    func remove(_ jobs: some Sequence<(job: JobID, lease: LeaseID)>) {
        state.withLock { state in
            for (job, lease) in jobs {
                if let entry = state.entries.removeValue(forKey: job), entry.isPending {
                    state.pending -= 1
                }
                state.leases[lease]?.jobs.remove(job)
                if state.leases[lease]?.jobs.isEmpty == true { state.leases[lease] = nil }
            }
        }
    }

    /// Leases that have used up a third of their time and need a heartbeat.
    func leasesToExtend(now: Instant = .now) -> [LeaseID] {
        state.withLock { state in
            state.leases.filter { _, lease in
                now - lease.grantedAt > (lease.deadline - lease.grantedAt) / 3
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
    }

    /// Drops leases that are lost: those that `isLost` names, and those whose time is over by this
    /// clock. Returns them; their transfers are the caller's to cancel.
    func dropLost(now: Instant = .now, _ isLost: (LeaseID) -> Bool = { _ in false }) -> [LeaseID] {
        state.withLock { state in
            let lost = state.leases.filter { id, lease in
                isLost(id) || now + Self.margin >= lease.deadline
            }
            for (id, lease) in lost {
                state.leases[id] = nil
                for job in lease.jobs {
                    if let entry = state.entries.removeValue(forKey: job), entry.isPending {
                        state.pending -= 1
                    }
                }
            }
            return lost.map(\.key)
        }
    }

    /// Bytes received of transfers under way, by asset, and how many there are.
    func progress() -> (receivedBytes: [String: Int64], active: Int) {
        state.withLock { state in
            var bytes: [String: Int64] = [:]
            var active = 0
            for entry in state.entries.values where entry.isPending {
                guard let received = entry.transfer?.receivedBytes, received > 0 else { continue }
                bytes[entry.asset.description, default: 0] += received
                active += 1
            }
            return (bytes, active)
        }
    }

    /// Transfers that no connection has been given yet.
    func queuedTransfers() -> [Transfer] {
        state.withLock { state in
            state.entries.values.compactMap(\.transfer).filter { $0.state == .queued }
        }
    }
}
