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
    /// The second part of each report, which is never asked for by itself: the queue takes whole
    /// objects first, in a transaction of their own.
    case reportRest(worker: Int, [WorkResult])
    case addSegments(worker: Int, Ticket, [SegmentSpec])
    /// `split` is the number of this request, from which its assembly is named.
    case split(worker: Int, Ticket, split: Int, totalBytes: Int64)
    /// So many coordinators sweep at once.
    case sweep(Int)
    /// What reports left is brought into the counts.
    case fold
    case tidy
    // What time does, by hand.
    case expire([Int])
    /// Delays and cooldowns are over.
    case due
    // Operators' steps (cancel, pause, resume, drain a queue) belong here once there are any.

    /// The parts that take effect one after the other, others perhaps in between.
    var parts: [Step] {
        guard case .report(let worker, let results) = self else { return [self] }
        return [self, .reportRest(worker: worker, results)]
    }

    /// Parts of a file are as long as this, but for the last.
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
    /// Of a part; of a whole, when the list says it.
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
    /// The results at these places are accepted; of the others, the rest of the report tells.
    case accepted(Set<Int>)
    /// Any of these, all of one site, at most so many; some, when there must be any.
    case grant(of: [Granted], sites: [Work: Int], most: Int, mustGive: Bool)
    /// At least these leases, at most those as well.
    case leases(must: Set<Int>, may: Set<Int>)

    /// - Parameter isAlone: nothing else ran meanwhile, whose locks a claim passes over.
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
        case (.leases(let must, let may), .leases(let answered)):
            return must.isSubset(of: answered) && answered.isSubset(of: must.union(may))
        default: return false
        }
    }
}
