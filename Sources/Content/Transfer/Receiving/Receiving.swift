internal import Digest
internal import Model
internal import Storage

/// A wanted body while it arrives.
struct Receiving {
    let body: BodyWriter
    var terms: BodyTerms
    /// Record by which the next attempt resumes; nil if it cannot.
    var leaving: PartialRecord?
    /// Number of bytes at which progress is next recorded.
    var nextNote = Int64.max

    /// Returns a copy whose split is judged from now on, because reserving space for a large file
    /// may take longer than its first bytes.
    func restarted(now: Double) -> Receiving {
        var restarted = self
        restarted.terms.split?.startedAt = now
        return restarted
    }
}

/// Requirements on a body, from its accepted header.
struct BodyTerms {
    /// Required length: of the range, the first part or the expected object; nil if unknown.
    var wantedBytes: Int64?
    /// Digests of the whole body, stated by the list and by the response.
    var expected: [ExpectedDigest] = []
    /// True for the first part of an object that is split.
    var isFirstPart = false
    /// A large object that may still be split.
    var split: SplitCandidate?
    /// An object to split in any case; reported once the destination is open.
    var announced: LargeObject?
    /// True if an earlier attempt received the start from another URL.
    var isMixed = false
}
