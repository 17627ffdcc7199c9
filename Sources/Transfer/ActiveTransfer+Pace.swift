internal import Curl
internal import Model

/// How fast a transfer is, and what that and its end say of its origin.
extension ActiveTransfer {
    /// What was seen of the transfer since it was last judged; then watches anew.
    func paceNow(_ policy: SlowPolicy, isLate: Bool, now: Double) -> TransferPace {
        if isLate || isPaused || opening != nil || pace.wasHeldBack {
            pace = PaceWindow(startedAt: now, bytes: received)
            return .unknown
        }
        let seconds = now - pace.startedAt
        guard seconds >= policy.judgingSeconds else { return .unknown }
        let bytes = max(received - pace.bytes, 0)
        pace = PaceWindow(startedAt: now, bytes: received)
        let isSlow = Double(bytes) < policy.floorBytesPerSecond * seconds
        guard isSlow else { return .prompt(seconds: seconds) }
        slowSeconds += seconds
        return .slow(seconds: seconds)
    }

    /// What its end after so many seconds says. The first second is for latency.
    func paceAtEnd(_ policy: SlowPolicy, seconds: Double) -> TransferPace {
        let watched = min(seconds, policy.judgingSeconds)
        let isSlow =
            seconds > 1 && !isBounded && !pace.wasHeldBack
            && Double(received - resumedBytes) < policy.floorBytesPerSecond * seconds
        return isSlow ? .slow(seconds: watched) : .prompt(seconds: watched)
    }

    /// What the end says of the origin's load.
    func ending(_ result: TransferResult) -> OriginScheduler.Ending {
        guard case .failure(let failure) = result.outcome else {
            return .ended(seconds: result.timings.totalSeconds)
        }
        if let trouble = failure.code.trouble {
            return .trouble(trouble, startedAt: requestedAt)
        }
        return failure.code == "worker.cancelled"
            ? .silent : .ended(seconds: result.timings.totalSeconds)
    }
}
