internal import Curl
internal import Digest
internal import EventLoop

extension AnswerJudge {
    /// Offers an object for a split if it is longer than the request allows for a whole one, and
    /// if its origin serves ranges of it with a validator that its parts must have in common.
    func offerSplit(_ terms: inout BodyTerms, of length: Int64) {
        guard let rule = request.delivery.split, length > rule.partBytes,
            length <= rule.maximumBytes, easy.status == 200,
            easy.header("Accept-Ranges")?.lowercased() == "bytes",
            let validator = easy.strongValidator
        else { return }
        terms.offerSplit(
            LargeObject(totalBytes: length, validator: validator, stated: easy.statedDigests),
            partBytes: rule.partBytes, belowBytesPerSecond: rule.belowBytesPerSecond,
            now: MonotonicClock.nowSeconds)
    }
}

/// Decides if a large object is split into parts: at once, by the speed of its first bytes, or not.
extension BodyTerms {
    /// Offers an object for a split, from its accepted header. `partBytes` is the length of its
    /// first part. With an infinite limit it is split at once; otherwise `considerSplit` decides.
    mutating func offerSplit(
        _ large: LargeObject, partBytes: Int64, belowBytesPerSecond limit: Double, now: Double
    ) {
        guard limit.isInfinite else {
            split = SplitCandidate(partBytes: partBytes, object: large, startedAt: now)
            return
        }
        isFirstPart = true
        wantedBytes = partBytes
        announced = large
    }

    /// Splits a large object whose first bytes arrived slowly. A fast connection gets it whole and
    /// needs no second reading for its digest. `count` bytes come next.
    ///
    /// - Returns: The object, if it must be split now.
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

    /// Length of its first part.
    let partBytes: Int64
    let object: LargeObject
    /// Start of its arrival, in seconds of the monotonic clock.
    var startedAt: Double
}
