internal import Digest
internal import Model
internal import Storage

/// A body that is wanted, while it arrives.
struct Receiving {
    let body: BodyWriter
    var terms: BodyTerms
    /// What the next attempt resumes it by; nil when it cannot.
    var leaving: PartialRecord?
    /// How many bytes there will be when their number is noted.
    var nextNote = Int64.max

    /// With a split judged from now on: to make room for a large file may take longer than its first
    /// bytes.
    func restarted(now: Double) -> Receiving {
        var restarted = self
        restarted.terms.split?.startedAt = now
        return restarted
    }
}

/// What an accepted header says of its body.
struct BodyTerms {
    /// Where the body must end: the range, the first part, the expected length; nil when unknown.
    var wantedBytes: Int64?
    /// What the list and the answer state of the whole body.
    var expected: [ExpectedDigest] = []
    /// It is the first part of an object that is split.
    var isFirstPart = false
    /// A large object that may still be split.
    var split: SplitCandidate?
    /// To be split in any case: reported once the destination is open.
    var announced: LargeObject?
    /// An earlier attempt received its start from another URL.
    var isMixed = false

    /// Splits a large object when its first bytes have arrived slowly; a fast connection gets it whole,
    /// and needs no second reading for its digest. `count` bytes come next.
    ///
    /// - Returns: the object, when it is to be split now.
    mutating func considerSplit(
        receivedBytes: Int64, next count: Int, belowBytesPerSecond limit: Double, now: Double
    ) -> LargeObject? {
        guard let candidate = split else { return nil }
        let seconds = now - candidate.startedAt
        let isLast = receivedBytes + Int64(count) >= candidate.partBytes
        guard isLast || seconds >= SplitCandidate.judgingSeconds else { return nil }
        guard Double(receivedBytes) < limit * seconds else {
            if isLast { split = nil }
            return nil
        }
        split = nil
        isFirstPart = true
        wantedBytes = candidate.partBytes
        return candidate.object
    }
}

/// A large object whose connection may turn out to be slow.
struct SplitCandidate {
    static let judgingSeconds = 0.25

    /// Where its first part would end.
    let partBytes: Int64
    let object: LargeObject
    /// Since when it arrives, on the monotonic clock, in seconds.
    var startedAt: Double
}
