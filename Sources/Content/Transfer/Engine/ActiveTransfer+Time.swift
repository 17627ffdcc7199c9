internal import Curl
internal import Model

/// How long a transfer takes, how fast it is, and what that and its end say of its origin.
extension ActiveTransfer {
    /// Continues after a pause, when it is its turn.
    func takeTurn() {
        turn = .next
        resume()
    }

    /// This side has paused it, or its destination is not open yet.
    private var isHeldUp: Bool { turn == .waiting || life.isOpening }

    /// Why a transfer has taken too long, and since when it waits.
    struct Overdue {
        let failure: Failure
        /// On the monotonic clock, in seconds.
        let since: Double
    }

    /// Why the transfer has taken too long, if it has.
    func overdue(now: Double) -> Overdue? {
        if life.isEnding { return nil }
        func overdue(_ message: String, since: Double) -> Overdue {
            Overdue(failure: problem("origin.timeout", message), since: since)
        }
        let timeouts = timeouts
        if let total = timeouts.total, now - route.startedAt > total {
            return overdue("not finished after \(total) s", since: route.startedAt)
        }
        guard easy.status > 0 else {
            // What it may take to connect counts until it has: libcurl ends what takes longer.
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

    // MARK: Connections that others share

    /// Its connection may be one of HTTP/2, which outlives its streams.
    var mayShareConnection: Bool { profile.shared !== profile.separate && !lane.speaksHTTP1 }

    /// Whether anything has come since this was asked last.
    func hasAdvanced() -> Bool {
        watch.hasAdvanced(
            to: TransferWatch.Seen(status: easy.status, bytes: life.receivedBytes))
    }

    // MARK: Pace

    /// What was seen of the transfer since it was last judged; then watches anew.
    func paceNow(_ policy: SlowPolicy, isLate: Bool, now: Double) -> TransferPace {
        watch.judge(
            policy, receivedBytes: life.receivedBytes, isExcused: isLate || isHeldUp, now: now)
    }

    /// What its end after so many seconds says. The first second is for latency.
    func paceAtEnd(_ policy: SlowPolicy, seconds: Double) -> TransferPace {
        let watched = min(seconds, policy.judgingSeconds)
        let bytes = life.receivedBytes - life.resumedBytes
        let isSlow =
            seconds > 1 && !isBounded && !watch.pace.wasHeldBack
            && Double(bytes) < policy.floorBytesPerSecond * seconds
        return isSlow ? .slow(seconds: watched) : .prompt(seconds: watched)
    }

    /// What the end says of the origin's load.
    func ending(_ result: TransferResult) -> OriginScheduler.Ending {
        guard case .failure(let failure) = result.outcome else {
            return .ended(seconds: result.timings.totalSeconds)
        }
        if let trouble = failure.code.trouble {
            return .trouble(trouble, startedAt: watch.requestedAt)
        }
        return failure.code == "worker.cancelled"
            ? .silent : .ended(seconds: result.timings.totalSeconds)
    }
}
