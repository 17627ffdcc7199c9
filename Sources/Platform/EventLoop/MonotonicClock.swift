internal import CLinux

/// CLOCK_MONOTONIC: time since some fixed point, never set back, not advanced by a suspend.
package enum MonotonicClock {
    /// The present time in nanoseconds.
    package static var nowNanoseconds: UInt64 { dray_monotonic_nanoseconds() }

    /// The present time in seconds.
    package static var nowSeconds: Double { Double(nowNanoseconds) / 1e9 }

    /// Returns the time `seconds` from now in nanoseconds; the wait is clamped to [0, 10 years].
    package static func deadlineNanoseconds(afterSeconds seconds: Double) -> UInt64 {
        let tenYears = 315_360_000.0
        let bounded = seconds.isNaN ? 0 : min(max(seconds, 0), tenYears)
        return nowNanoseconds + UInt64(bounded * 1e9)
    }
}
