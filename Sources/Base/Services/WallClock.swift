import Glibc
import Synchronization
import Text

/// The time of day, injected so that tests can set it.
///
/// Only for people's texts and HTTP dates. Leases, cooldowns and schedules use the database's
/// clock; deadlines within a process use `ContinuousClock`.
package protocol WallClock: Sendable {
    /// Seconds since 1970-01-01T00:00:00Z.
    var nowSeconds: Double { get }
}

/// The machine's clock.
package struct SystemWallClock: WallClock {
    package init() {}

    package var nowSeconds: Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}

/// A clock that changes only when it is advanced.
package final class ManualWallClock: WallClock {
    private let seconds: Mutex<Double>

    package init(nowSeconds: Double) { seconds = Mutex(nowSeconds) }

    package var nowSeconds: Double { seconds.withLock { $0 } }

    /// Moves the clock by `delta` seconds, which may be negative.
    package func advance(bySeconds delta: Double) { seconds.withLock { $0 += delta } }
}

/// Returns `seconds` since the epoch as RFC 3339 in UTC with milliseconds:
/// `2026-03-01T12:00:00.250Z`.
package func timestamp(ofSeconds seconds: Double) -> String {
    let milliseconds = Int64((seconds * 1_000).rounded(.down))
    var wholeSeconds = time_t(milliseconds / 1_000)
    var parts = tm()
    gmtime_r(&wholeSeconds, &parts)
    let date = [
        padded(Int(parts.tm_year) + 1900, 4), padded(Int(parts.tm_mon) + 1, 2),
        padded(Int(parts.tm_mday), 2),
    ].joined(separator: "-")
    let time = [
        padded(Int(parts.tm_hour), 2), padded(Int(parts.tm_min), 2), padded(Int(parts.tm_sec), 2),
    ].joined(separator: ":")
    return "\(date)T\(time).\(padded(Int(milliseconds % 1_000), 3))Z"
}
