internal import Curl
internal import Model

extension ActiveTransfer {
    /// Goes on after a pause, when it is its turn.
    func resume() {
        isPaused = false
        hasTurn = true
        let code = easy.resume()
        guard code != .ok else { return }
        loop.remove(easy)
        curl(easy, finished: code)
    }

    /// Why a transfer has taken too long, and since when it waits.
    struct Overdue {
        let failure: Failure
        /// On the monotonic clock, in seconds.
        let since: Double
    }

    /// Why the transfer has taken too long, if it has.
    func overdue(now: Double) -> Overdue? {
        if opening?.ending != nil { return nil }
        func overdue(_ message: String, since: Double) -> Overdue {
            Overdue(failure: problem("origin.timeout", message), since: since)
        }
        let timeouts = timeouts
        if let total = timeouts.total, now - startedAt > total {
            return overdue("not finished after \(total) s", since: startedAt)
        }
        guard easy.status > 0 else {
            // What it may take to connect counts until it has: libcurl ends what takes longer.
            let sentAfter = easy.secondsUntilSent
            let limit = timeouts.firstByte + (sentAfter > 0 ? sentAfter : timeouts.connect)
            guard now - requestedAt > limit else { return nil }
            return overdue("no answer after \(timeouts.firstByte) s", since: requestedAt)
        }
        // Slow by order.
        if isPaused || opening != nil { windowStartedAt = nil }
        guard let start = windowStartedAt else {
            windowStartedAt = now
            windowBytes = received
            return nil
        }
        guard now - start >= timeouts.lowSpeed else { return nil }
        let bytesPerSecond = Double(received - windowBytes) / (now - start)
        windowStartedAt = now
        windowBytes = received
        guard bytesPerSecond < timeouts.lowSpeedBytesPerSecond else { return nil }
        return overdue("\(Int(bytesPerSecond)) bytes/s for \(timeouts.lowSpeed) s", since: start)
    }

    // MARK: Connections that others share

    /// What has come of the answer.
    struct Seen: Equatable {
        var status = 0
        var bytes: Int64 = 0
    }

    /// Its connection may be one of HTTP/2, which outlives its streams.
    var mayShareConnection: Bool { profile.shared !== profile.separate && !lane.speaksHTTP1 }

    /// Whether anything has come since this was asked last.
    func hasAdvanced() -> Bool {
        let now = Seen(status: easy.status, bytes: received)
        defer { seen = now }
        return now != seen
    }
}
