import API
import Model
import Rendering
import Text

/// Judges origins, by what the cluster knows of them and by a request from this machine.
enum OriginChecks {
    private static let recentSeconds = 3_600.0
    /// Number of cooldowns within that time from which an origin gets a warning.
    private static let manyCooldowns = 3
    private static let maxListed = 10

    /// Judges a page of origins: one check for each with an issue, and one for all others.
    static func all(_ page: OriginPage) -> [DoctorCheck] {
        guard !page.origins.isEmpty else {
            return [.skipped(.origins, "origins", because: "no catalog has been submitted")]
        }
        let found = page.origins.compactMap { check($0, now: page.now) }
        let listed = Array(found.prefix(maxListed))
        let rest = page.origins.count - listed.count
        guard rest > 0 else { return listed }
        let hidden = found.count - listed.count
        let others = listed.isEmpty ? "" : "other "
        let some = page.next == nil ? "" : " of the first \(page.origins.count)"
        return listed + [
            .ok(
                .origins, "\(others)origins",
                hidden == 0
                    ? "\(HumanFormat.count(rest))\(some) without a cooldown"
                    : "\(HumanFormat.count(rest))\(some), of which \(hidden) need attention: "
                        + "dray origins")
        ]
    }

    /// Returns a warning for an origin that the cluster does not use now, or had to spare several
    /// times within the last hour; nil for others.
    static func check(_ origin: OriginStatus, now: Double) -> DoctorCheck? {
        let name = "origin \(origin.origin)"
        let recent = origin.decisions.filter {
            now - $0.at <= recentSeconds && $0.decision != OriginBreaker.closed.rawValue
                && $0.decision != OriginBreaker.halfOpen.rawValue
        }
        let reason = origin.reason ?? recent.first?.reason
        let because = reason.map { ": \($0)" } ?? ""
        let advice = "Test it from a worker's machine: dray fetch URL; see dray origins."
        switch origin.breaker {
        case .failing:
            return .warning(
                .origins, name, "failing after many cooldowns\(because)", advice: advice)
        case .open, .halfOpen:
            return .warning(.origins, name, "circuit breaker open\(because)", advice: advice)
        case .closed: break
        }
        if let end = origin.cooldownUntil, end > now {
            return .warning(
                .origins, name,
                "in cooldown for \(HumanFormat.duration(seconds: end - now))\(because)",
                advice: advice)
        }
        if recent.count >= manyCooldowns, let last = recent.first {
            return .warning(
                .origins, name,
                "\(recent.count) cooldowns within the last hour; the last: \(last.reason)",
                advice: advice)
        }
        return nil
    }

    /// A request to an origin from this machine.
    struct Probe: Sendable {
        var url: String
        /// Status of the answer; nil without one.
        var status: Int?
        var failure: Failure?
        var firstByteSeconds = 0.0

        init(url: String, status: Int? = nil, failure: Failure? = nil) {
            self.url = url
            self.status = status
            self.failure = failure
        }
    }

    /// Judges a request: an answer without the object shows that the origin is reachable.
    static func check(_ probe: Probe) -> DoctorCheck {
        let name = "request to \(probe.url)"
        guard let failure = probe.failure else {
            return .ok(
                .origins, name,
                "answers in \(HumanFormat.fixed(probe.firstByteSeconds * 1_000, places: 1)) ms")
        }
        guard let status = probe.status else { return .failed(.origins, name, failure) }
        guard failure.code.httpStatusClass != nil, status < 500, status != 429 else {
            return .warning(.origins, name, failure)
        }
        return .ok(.origins, name, "answers with status \(status)")
    }
}
