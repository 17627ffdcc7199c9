import Synchronization

/// A limit of bytes per second for transfers on any thread; unlimited until a rate is set. Its
/// times are seconds of one monotonic clock.
final class ByteMeter: Sendable {
    private struct Bound {
        var bucket: TokenBucket
        /// Nothing is allowed after it.
        var deadline: Double

        mutating func expire(_ now: Double) {
            guard now >= deadline, bucket.bytesPerSecond > 0 else { return }
            bucket.change(bytesPerSecond: 0, now: now)
        }
    }

    private let bounded = Atomic<Bool>(false)
    private let bound = Mutex<Bound?>(nil)

    var isBounded: Bool { bounded.load(ordering: .relaxed) }

    /// Bytes per second; nil without a limit.
    var rate: Double? { bound.withLock { $0?.bucket.bytesPerSecond } }

    /// Sets the limit until a deadline, or removes it.
    func set(_ bytesPerSecond: Int64?, until deadline: Double = .infinity, now: Double) {
        bound.withLock { bound in
            guard let bytesPerSecond else { return bound = nil }
            if bound == nil {
                let bucket = TokenBucket(bytesPerSecond: bytesPerSecond, now: now)
                bound = Bound(bucket: bucket, deadline: deadline)
            } else {
                bound?.bucket.change(bytesPerSecond: bytesPerSecond, now: now)
                bound?.deadline = deadline
            }
        }
        bounded.store(bytesPerSecond != nil, ordering: .relaxed)
    }

    /// Returns the seconds until something can be taken, at most a day; 0 if it can be taken now.
    func secondsUntilCredit(now: Double) -> Double {
        bound.withLock { bound in
            bound?.expire(now)
            return bound?.bucket.secondsUntilCredit(now: now) ?? 0
        }
    }

    /// Takes `count` bytes, even if they exceed the tokens: a block may go into debt.
    func spend(_ count: Int, now: Double) {
        bound.withLock { bound in
            bound?.expire(now)
            bound?.bucket.spend(count, now: now)
        }
    }
}
