import API
import Model
import TestSupport

/// One request to the queue, or one thing that befalls it.
enum Step: Hashable, Sendable {
    case open(Int)
    case add(Int, generation: Int, [AssetSpec])
    case start(Int, generation: Int)
    case interrupt(Int)
    /// A claim of at most so many jobs under a new lease; without sites, of every queue.
    case claim(lease: Int, worker: Int, sites: [Int], most: Int)
    /// Returns a lease whose grant the worker has not received.
    case release(worker: Int, lease: Int)
    case heartbeat(worker: Int, leases: [Int])
    case report(worker: Int, [WorkResult])
    /// The second part of each report, which is never asked for by itself: the queue takes whole
    /// objects first, in a transaction of their own.
    case reportRest(worker: Int, [WorkResult])
    case addSegments(worker: Int, Ticket, [SegmentSpec])
    /// `split` is the number of this request, which names its multipart file.
    case split(worker: Int, Ticket, split: Int, totalBytes: Int64)
    /// A refresh requests the files of its asset: results of an earlier attempt are deleted.
    case beginRefresh(worker: Int, Ticket)
    /// It reports the asset's first file, and requests its publication, or not.
    case handIn(worker: Int, Ticket, SegmentSpec, StoredObject, publishes: Bool)
    /// So many coordinators sweep at once.
    case sweep(Int)
    /// What reports left is brought into the counts.
    case fold
    case tidy
    // What time does, by hand.
    case expire([Int])
    /// Delays and cooldowns are over.
    case due
    /// Work is cancelled, retried or reprioritised.
    case operate(Operation)
    /// The first part of an operation on every catalog, which is never asked for by itself: which
    /// they are. The others follow one catalog at a time.
    case choose(Operation)
    /// A site's queue is paused, drained or resumed.
    case control(site: Int, QueueState)
    /// A worker records the volume that a site is on, and its file system, under a lease that may hold nothing of it.
    case recordVolume(worker: Int, lease: Int, site: Int, volume: Int, fileSystem: Int?)
    /// Whatever volume a worker finds next is the site's.
    case acceptVolume(site: Int)

    /// The parts that take effect one after the other, others perhaps in between.
    var parts: [Step] {
        switch self {
        case .report(let worker, let results):
            return [self, .reportRest(worker: worker, results)]
        case .operate(let operation) where operation.catalog == nil:
            return [.choose(operation)]
                + (0..<HistoryGenerator.maxCatalogs).map { .operate(operation.limited(to: $0)) }
        default: return [self]
        }
    }

    /// Parts of a file are as long as this, but for the last.
    static let partBytes: Int64 = 1 << 20
}

/// An operator's request, for the jobs that match all of these.
struct Operation: Hashable, Sendable {
    var action: SelectionAction.Action
    /// Nil for every catalog.
    var catalog: Int?
    var asset: String?
    var code: FailureCode?
    /// What to reprioritise to.
    var priority: Int?
    /// What to reschedule to: not before a time that never comes, or at once.
    var isHeldBack = false
    /// One catalog's part of an operation on every catalog.
    var isPart = false

    func limited(to catalog: Int) -> Operation {
        var part = self
        part.catalog = catalog
        part.isPart = true
        return part
    }
}

/// A worker's report of a ticket.
struct WorkResult: Hashable, Sendable {
    var ticket: Ticket
    var outcome: Outcome

    enum Outcome: Hashable, Sendable {
        case stored(bytes: Int64, sha256: String, isReused: Bool)
        /// Of a resolve: how many segments were sent.
        case resolved(Int)
        /// Of checksums.
        case written
        case refreshed(RefreshOutcome)
        case failed(FailureCode, retryAfter: Double?)
        case returned
        /// Done, with nothing stored.
        case nothingStored
    }
}

/// What the queue answered.
enum Answer: Equatable, Sendable {
    case nothing
    case refused(FailureCode)
    /// An error that nothing explains.
    case broken(String)
    case opened(generation: Int)
    case granted([Granted])
    case verdicts([ReportAnswer.Verdict])
    /// Leases that stand, and what was cancelled while they held it.
    case leases(Set<Int>, cancelled: [Work])
    case swept(Int)
    case splitInto(ReportAnswer.Verdict)
    case selected(SelectionAnswer)
    case queue(QueueState, leased: Int)
    case volume(Int?, fileSystem: Int?)
    /// The connection broke: it may have been carried out or not.
    case unknown
}

/// A job as it was handed out, without its number.
struct Granted: Hashable, Sendable {
    var work: Work
    var attempt: Int
    /// The length of a part; of a whole file, if the list has it.
    var length: Int64?
    var sha256: String?
    var known: StoredObject?
    /// Of a part or a verification: the split it came from.
    var split: Int?
    /// Of a verification: digests by offset.
    var parts: [Int64: String]?
}

/// What the model allows the queue to answer.
enum Expected: Sendable {
    case exactly(Answer)
    /// The results with these indexes are accepted.
    case accepted(Set<Int>)
    /// Any of these, all of one site, at most so many; some, when there must be any.
    case grant(of: [Granted], sites: [Work: Int], most: Int, mustGive: Bool)
    /// At least these leases, at most those as well.
    case leases(must: Set<Int>, may: Set<Int>, cancelled: [Work])
    /// So much was changed; of a whole catalog that is reprioritised it is only said, and by counts
    /// that what runs at the same time changes.
    case selected(SelectionAnswer, isWritten: Bool)
    case queue(QueueState, leased: Int)

    /// - Parameter isAlone: nothing else ran meanwhile, whose locks a claim skips.
    func admits(_ answer: Answer, isAlone: Bool) -> Bool {
        switch (self, answer) {
        case (.exactly(let expected), _): return expected == answer
        case (.accepted, .refused(let code)): return code == "cluster.protocol"
        case (.accepted(let places), .verdicts(let verdicts)):
            return places.allSatisfy { verdicts.indices.contains($0) && verdicts[$0] == .accepted }
        case (.grant(let permitted, let sites, let most, let mustGive), .granted(let given)):
            let isWithin =
                given.count <= most && Set(given).count == given.count
                && Set(given).isSubset(of: permitted)
                && Set(given.map { sites[$0.work] }).count <= 1
            return isWithin && !(given.isEmpty && mustGive && isAlone)
        case (.leases(let must, let may, let expected), .leases(let answered, let cancelled)):
            return must.isSubset(of: answered) && answered.isSubset(of: must.union(may))
                && (!isAlone || expected == cancelled)
        case (.selected(let expected, let isWritten), .selected(let answered)):
            return expected == answered || !(isWritten || isAlone)
        case (.queue(let state, let leased), .queue(let answered, let itsLeased)):
            return state == answered && (!isAlone || leased == itsLeased)
        default: return false
        }
    }
}

extension Step {
    var isOfTime: Bool {
        switch self {
        case .expire, .due, .tidy: true
        default: false
        }
    }

    var isSweep: Bool {
        if case .sweep = self { true } else { false }
    }

    var isReport: Bool {
        if case .report = self { true } else { false }
    }
}
