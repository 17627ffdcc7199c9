/// Cooldowns of origins within a process: those that `Retry-After` asks for, and those that the
/// coordinator reports.
extension OriginScheduler.State {
    mutating func beginCooldown(
        _ origin: OriginState, forSeconds seconds: Double, _ effects: inout Effects, now: Double
    ) {
        guard seconds > 0 else { return }
        origin.cooldown = (max(now + seconds, origin.cooldown?.until ?? 0), now)
        noteLimits(of: origin)
        review(origin, &effects, now: now)
    }

    mutating func endCooldown(_ origin: OriginState, _ effects: inout Effects, now: Double) {
        origin.cooldown = nil
        noteLimits(of: origin)
        review(origin, &effects, now: now)
    }

    /// For a longer wait, in seconds, transfers that have not started are returned.
    private static let longCooldown = 5.0

    /// Keeps an origin waiting during its cooldown; returns false once that is over.
    mutating func waits(
        _ origin: OriginState, _ effects: inout Effects, now: Double
    ) -> Bool {
        guard let cooldown = origin.cooldown else { return false }
        guard cooldown.until > now else {
            origin.cooldown = nil
            noteLimits(of: origin)
            return false
        }
        review(origin, at: cooldown.until, &effects)
        guard cooldown.until - now > Self.longCooldown else { return true }
        for waiting in origin.lines.remove({ _ in true }) {
            origin.lines.pending -= 1
            waitingCount -= 1
            if (waiting.route?.redirects ?? 0) == 0 {
                effects.returned.append(waiting.transfer)
            } else {
                // Returned, it would be redirected here again, which costs its own origin a
                // request.
                effects.postponed.append((waiting.transfer, origin.name, cooldown.until - now))
            }
        }
        return true
    }
}
