internal import Curl
internal import Model

/// A transfer's timeouts and speed, and their meaning for its origin.
extension ActiveTransfer {
    /// Continues after a pause when its turn has come.
    func takeTurn() {
        turn = .next
        resume()
    }

    /// True if this side has paused it, or if its destination is not open yet.
    private var isHeldUp: Bool { turn == .waiting || life.isOpening }

    /// A timeout of a transfer, with the start of its wait.
    struct Overdue {
        let failure: Failure
        /// Seconds of the monotonic clock.
        let since: Double
    }

    /// Returns the timeout that the transfer has exceeded, if any.
    func overdue(now: Double) -> Overdue? {
        if life.isEnding { return nil }
        func overdue(_ message: String, since: Double) -> Overdue {
            Overdue(failure: problem(.originTimeout, message), since: since)
        }
        let timeouts = timeouts
        if let total = timeouts.total, now - route.startedAt > total {
            return overdue("not finished after \(total) s", since: route.startedAt)
        }
        guard easy.status > 0 else {
            // Connecting may use its own timeout, which libcurl enforces.
            let sentAfter = easy.secondsUntilSent
            let limit = timeouts.firstByte + (sentAfter > 0 ? sentAfter : timeouts.connect)
            guard now - watch.requestedAt > limit else { return nil }
            return overdue("no answer after \(timeouts.firstByte) s", since: watch.requestedAt)
        }
        if isHeldUp { watch.excuse() }
        let speed = watch.speed(of: life.receivedBytes, over: timeouts.lowSpeed, now: now)
        guard let speed, speed.bytesPerSecond < timeouts.lowSpeedBytesPerSecond else { return nil }
        return overdue(
            "\(Int(speed.bytesPerSecond)) bytes/s for \(timeouts.lowSpeed) s", since: speed.since)
    }

    // MARK: Shared connections

    /// True if its connection may be an HTTP/2 one, which outlives its streams.
    var mayShareConnection: Bool { profile.shared !== profile.separate && !origin.speaksHTTP1 }

    /// Returns true if anything has arrived since the last call.
    func hasAdvanced() -> Bool {
        watch.hasAdvanced(
            to: TransferWatch.Seen(status: easy.status, bytes: life.receivedBytes))
    }

    // MARK: Pace

    /// Returns the pace since the last judgement, and starts the next observation.
    func paceNow(_ policy: SlowPolicy, isLate: Bool, now: Double) -> TransferPace {
        watch.judge(
            policy, receivedBytes: life.receivedBytes, isExcused: isLate || isHeldUp, now: now)
    }

    /// Returns the pace that its end after so many seconds shows. The first second is left for
    /// latency.
    func paceAtEnd(_ policy: SlowPolicy, seconds: Double) -> TransferPace {
        let watched = min(seconds, policy.judgingSeconds)
        let bytes = life.receivedBytes - life.resumedBytes
        let isSlow =
            seconds > 1 && !isBounded && !watch.pace.wasHeldBack
            && Double(bytes) < policy.floorBytesPerSecond * seconds
        return isSlow ? .slow(seconds: watched) : .prompt(seconds: watched)
    }

    /// Returns the meaning of its end for the origin's load.
    func ending(_ result: TransferResult) -> OriginScheduler.Ending {
        guard case .failure(let failure) = result.outcome else {
            return .ended(seconds: result.timings.totalSeconds)
        }
        if let overload = failure.code.overload {
            return .overload(overload, startedAt: watch.requestedAt)
        }
        return failure.code == .workerCancelled
            ? .silent : .ended(seconds: result.timings.totalSeconds)
    }
}
