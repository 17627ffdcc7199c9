internal import LoadModel
internal import Model
internal import Statistics

/// The counts of a loop: those of the current second, and the totals by object and by group.
struct LoopRecord {
    var interval = LoadInterval(second: 0)
    /// Totals by object, without the warm-up.
    private(set) var tallies: [Int32: LoadTally] = [:]
    /// Without the warm-up.
    var groups: LoopGroups
    var cpu = ThreadCPU()
    /// Start-up times in microseconds, without those of the current interval.
    private var startups = (count: Int64(0), sum: 0.0)

    init(_ plan: LoadPlan) { groups = LoopGroups(plan) }

    /// Records an ended request. Its time counts from when it was planned, not from when it was
    /// sent: a slow server delays later requests and would hide them (coordinated omission).
    mutating func record(
        _ request: LoadRequest, _ failure: FailureCode?, countsAs object: Int,
        atSeconds now: Double, isAfterLoad: Bool, isMeasured: Bool
    ) {
        let delay = request.sentSeconds - request.plannedSeconds
        let total = Self.microseconds(now - request.plannedSeconds)
        let uncorrected = Self.microseconds(now - request.sentSeconds)
        interval.record(Self.microseconds(delay), .sendDelay)
        if request.response.openedConnection {
            interval.counts.requests.connections += 1
            let connected = request.response.connectSeconds
            if connected > 0 { interval.record(Self.microseconds(connected), .connect) }
        }
        let afterEnd: Int64 = isAfterLoad ? 1 : 0
        if let failure {
            interval.counts.requests.failed += 1
            interval.counts.afterEnd.failed += afterEnd
            interval.counts.requests.failedBytes += request.response.bytes
            interval.record(total, .failed)
            interval.record(uncorrected, .failedUncorrected)
            interval.errors[failure.rawValue, default: 0] += 1
        } else {
            interval.counts.requests.succeeded += 1
            interval.counts.afterEnd.succeeded += afterEnd
            interval.record(total, .total)
            interval.record(uncorrected, .totalUncorrected)
            if let firstByte = request.response.firstByteSeconds {
                interval.record(
                    Self.microseconds(firstByte - request.sentSeconds), .firstByteUncorrected)
                interval.record(Self.microseconds(firstByte - request.plannedSeconds), .firstByte)
            }
        }
        request.response.cache.count(bytes: request.response.bytes, into: &interval.counts.cache)
        guard isMeasured else { return }
        tallies[Int32(object), default: LoadTally()].record(
            bytes: request.response.bytes, microseconds: total, isFailure: failure != nil)
    }

    /// Records a request whose full duration is unknown, because the test stopped.
    mutating func recordUnfinished(_ request: LoadRequest, atSeconds now: Double) {
        interval.counts.requests.unfinished += 1
        interval.counts.requests.longestUnfinishedSeconds = max(
            interval.counts.requests.longestUnfinishedSeconds, now - request.plannedSeconds)
    }

    /// Adds the CPU time since the last reading.
    mutating func takeCPU(isAfterLoad: Bool) {
        cpu.take(into: &interval.counts, isAfterLoad: isAfterLoad)
    }

    /// Returns the interval of the current second, and begins the next.
    mutating func nextInterval() -> LoadInterval {
        if let startup = interval[.startup] {
            startups.count += startup.total
            startups.sum += startup.mean * Double(startup.total)
        }
        let whole = interval
        interval = LoadInterval(second: whole.second + 1)
        return whole
    }

    /// Mean start-up time of viewers so far, in seconds; 0 before the first.
    var usualStartupSeconds: Double {
        let new = interval[.startup]
        let count = startups.count + (new?.total ?? 0)
        let sum = startups.sum + (new.map { $0.mean * Double($0.total) } ?? 0)
        return count > 0 ? sum / Double(count) / 1e6 : 0
    }

    static func microseconds(_ seconds: Double) -> Int64 { Int64(max(seconds, 0) * 1e6) }
}
