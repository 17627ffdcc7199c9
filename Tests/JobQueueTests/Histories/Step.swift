import Model

/// One request to the queue, or one thing that befalls it.
enum Step: Hashable, Sendable {
    case open(Int)
    case add(Int, generation: Int, [AssetSpec])
    case start(Int, generation: Int)
    case interrupt(Int)
    /// A claim of at most so many jobs under a new lease; without sites, of every queue.
    case claim(lease: Int, worker: Int, sites: [Int], most: Int)
    case heartbeat(worker: Int, leases: [Int])
    case report(worker: Int, [WorkResult])
    case addSegments(worker: Int, Ticket, [SegmentSpec])
    /// `split` is the number of this request, from which its assembly is named.
    case split(worker: Int, Ticket, split: Int, totalBytes: Int64)
    /// So many coordinators sweep at once.
    case sweep(Int)
    case tidy
    // What time does, by hand.
    case expire([Int])
    /// Delays and cooldowns are over.
    case due
    // Operators' steps (cancel, pause, resume, drain a queue) belong here once there are any.

    /// Parts are as long as this, but for the last.
    static let partBytes: Int64 = 1 << 20
}

/// What a worker says became of a ticket.
struct WorkResult: Hashable, Sendable {
    var ticket: Ticket
    var outcome: Outcome

    enum Outcome: Hashable, Sendable {
        case stored(bytes: Int64, sha256: String, isAdopted: Bool)
        /// Of a resolve: how many segments were sent.
        case resolved(Int)
        /// Of sums.
        case written
        case failed(FailureCode, retryAfter: Double?)
        case returned
        /// Done, with nothing stored; failed, without a failure.
        case nothingStored
        case nothingFailed
    }
}

/// What the queue answered.
enum Answer: Equatable, Sendable {
    case nothing
    case refused(FailureCode)
    case opened(generation: Int)
    case granted([Granted])
    case verdicts([ReportAnswer.Verdict])
    case leases(Set<Int>)
    case swept(Int)
    case splitInto(ReportAnswer.Verdict, Granted?)
    /// The connection broke: it may have been carried out or not.
    case unknown
}

/// A job as it was handed out, without its number.
struct Granted: Hashable, Sendable {
    var work: Work
    var attempt: Int
    var length: Int64?
    var known: StoredObject?
    /// Of a part or a verification: the split it came from.
    var split: Int?
    /// Of a verification: digests by offset.
    var parts: [Int64: String]?
}

/// What the model allows the queue to answer.
enum Expected: Sendable {
    case exactly(Answer)
    /// Any of these, all of one site, at most so many; some, when there must be any.
    case grant(of: [Granted], sites: [Work: Int], most: Int, mustGive: Bool)
    /// At least these leases, at most those as well.
    case leases(must: Set<Int>, may: Set<Int>)

    /// - Parameter isAlone: nothing else ran meanwhile, whose locks a claim passes over.
    func admits(_ answer: Answer, isAlone: Bool) -> Bool {
        switch (self, answer) {
        case (.exactly(let expected), _): return expected == answer
        case (.grant(let permitted, let sites, let most, let mustGive), .granted(let given)):
            let isWithin =
                given.count <= most && Set(given).count == given.count
                && Set(given).isSubset(of: permitted)
                && Set(given.map { sites[$0.work] }).count <= 1
            return isWithin && !(given.isEmpty && mustGive && isAlone)
        case (.leases(let must, let may), .leases(let answered)):
            return must.isSubset(of: answered) && answered.isSubset(of: must.union(may))
        default: return false
        }
    }
}
