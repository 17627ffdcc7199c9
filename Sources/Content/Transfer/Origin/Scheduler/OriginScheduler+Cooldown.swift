/// Cooldowns of origins within a process: those that `Retry-After` asks for, and those that the
/// coordinator reports.
extension OriginScheduler.State {
    mutating func cool(
        _ lane: OriginState, forSeconds seconds: Double, _ effects: inout Effects, now: Double
    ) {
        guard seconds > 0 else { return }
        lane.cooling = (max(now + seconds, lane.cooling?.until ?? 0), now)
        noteLimits(of: lane)
        review(lane, &effects, now: now)
    }

    mutating func warm(_ lane: OriginState, _ effects: inout Effects, now: Double) {
        lane.cooling = nil
        noteLimits(of: lane)
        review(lane, &effects, now: now)
    }

    /// For a longer wait, in seconds, transfers that have not started are returned.
    private static let longCooling = 5.0

    /// Keeps a lane waiting during its origin's cooldown; returns false once that is over.
    mutating func waits(
        _ lane: OriginState, _ effects: inout Effects, now: Double
    ) -> Bool {
        guard let cooling = lane.cooling else { return false }
        guard cooling.until > now else {
            lane.cooling = nil
            noteLimits(of: lane)
            return false
        }
        review(lane, at: cooling.until, &effects)
        guard cooling.until - now > Self.longCooling else { return true }
        for waiting in lane.lines.remove({ _ in true }) {
            lane.lines.pending -= 1
            waitingCount -= 1
            if (waiting.route?.redirects ?? 0) == 0 {
                effects.returned.append(waiting.transfer)
            } else {
                // Returned, it would be redirected here again, which costs its own origin a
                // request.
                effects.postponed.append((waiting.transfer, lane.origin, cooling.until - now))
            }
        }
        return true
    }
}
