import Model

/// A job as the fence found it: held by the lease that was named, its row and asset locked.
struct HeldJob {
    var id: JobID
    var lane: Int64
    var kind: JobKind
    var attempt: Int
    var asset: Int64
    var segment: Int64?
    /// The segment of the whole file, when this one is a part.
    var parent: Int64?
    /// Bytes of a part.
    var partBytes: Int64?
    /// The try of the whole file that a part or a verification belongs to.
    var wholeAttempt: Int?
    /// Its origin has failed so often that nothing of it is tried twice.
    var originIsGivenUp = false
    /// It stands in the lane of a mirror, its own origin being left alone.
    var isAtMirrors = false
    /// It reads the manifest of a title, whose segments are known, for fresh URLs.
    var isRenewal = false
}
