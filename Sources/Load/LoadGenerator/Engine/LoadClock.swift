internal import EventLoop

/// A test's clock: seconds since its start, from the monotonic clock.
package struct LoadClock: Sendable {
    /// On CLOCK_MONOTONIC.
    package let startNanoseconds: UInt64

    package init(startNanoseconds: UInt64) { self.startNanoseconds = startNanoseconds }

    /// Negative before the start.
    package var seconds: Double {
        Double(Int64(bitPattern: MonotonicClock.nowNanoseconds &- startNanoseconds)) / 1e9
    }
}
