import API
import Model
import Rendering
import Text

/// Formats origins for people.
enum OriginsText {
    /// Number of the cluster's decisions that are shown per origin; `--json` has more.
    private static let decisionsShown = 5

    static func text(_ page: OriginPage) -> String {
        [
            "Default: \(text(page.defaults))\n", origins(page), workers(page), decisions(page),
        ].joined(separator: "\n")
    }

    /// Returns text such as `at most 8 connections, 50 requests/s` or `unlimited`.
    static func text(_ limits: OriginLimits) -> String {
        let parts = [
            limits.connections.map { HumanFormat.count($0, "connection") },
            limits.requestsPerSecond.map { "\(number($0)) requests/s" },
            limits.bytesPerSecond.map { ClusterCall.rate($0) },
        ].compactMap(\.self)
        return parts.isEmpty ? "unlimited" : "at most " + parts.joined(separator: ", ")
    }

    private static func origins(_ page: OriginPage) -> String {
        ClusterCall.section(
            "Origins",
            [
                "Origin", "Limits", "Connections", "Requests/s", "Bandwidth", "Waiting", "Leased",
                "State",
            ], [.left, .left, .right, .right, .right, .right, .right, .left],
            page.origins.map { origin in
                [
                    printable(origin.origin), origin.hasOwnLimits ? "own" : "default",
                    used(origin.inUse.connections, of: origin.limits.connections),
                    "\(number(origin.inUse.requestsPerSecond)) of "
                        + (origin.limits.requestsPerSecond.map(number) ?? "∞"),
                    ClusterCall.rate(origin.limits.bytesPerSecond),
                    waiting(origin), HumanFormat.count(origin.leased),
                    state(origin, now: page.now),
                ]
            })
    }

    private static func waiting(_ origin: OriginStatus) -> String {
        HumanFormat.count(origin.waiting) + (origin.hasMoreWaiting == true ? "+" : "")
    }

    private static func used(_ count: Int, of most: Int?) -> String {
        "\(HumanFormat.count(count)) of \(most.map { HumanFormat.count($0) } ?? "∞")"
    }

    /// Returns text such as `healthy`, `cooldown for 12.0 s: origin.http.429` or `being tested: …`.
    private static func state(_ origin: OriginStatus, now: Double) -> String {
        let rest = (origin.cooldownUntil ?? now) - now
        let state =
            switch origin.breaker {
            case .open, .closed, .failing:
                rest > 0
                    ? "cooldown for \(HumanFormat.duration(seconds: rest))"
                    : origin.breaker == .failing ? "failing" : "healthy"
            case .halfOpen: "being tested"
            }
        guard state != "healthy", let reason = origin.reason else { return state }
        return "\(state): \(printable(reason))"
    }

    private static func workers(_ page: OriginPage) -> String {
        ClusterCall.section(
            "Workers", ["Origin", "Worker", "Transfers", "Rate", "Decided", "Reason"],
            [.left, .left, .right, .right, .left, .left],
            page.origins.flatMap { origin in
                origin.workers.map { worker in
                    [
                        printable(origin.origin), printable(worker.name),
                        HumanFormat.count(worker.concurrency),
                        HumanFormat.rate(bytesPerSecond: Double(worker.bytesPerSecond)),
                        "\(printable(worker.decision)) \(age(worker.at, now: page.now))",
                        printable(worker.reason),
                    ]
                }
            })
    }

    private static func decisions(_ page: OriginPage) -> String {
        ClusterCall.section(
            "Decisions", ["Origin", "When", "Decision", "Reason"], [.left, .left, .left, .left],
            page.origins.flatMap { origin in
                origin.decisions.prefix(decisionsShown).map { decision in
                    [
                        printable(origin.origin), age(decision.at, now: page.now),
                        printable(decision.decision), printable(decision.reason),
                    ]
                }
            })
    }

    private static func age(_ at: Double, now: Double) -> String {
        "\(HumanFormat.duration(seconds: max(0, now - at))) ago"
    }

    /// Formats up to three decimal places, without trailing zeros.
    private static func number(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1e12 else { return "–" }
        var text = HumanFormat.fixed(value, places: 3)
        while text.last == "0" { text.removeLast() }
        if text.last == "." { text.removeLast() }
        return text
    }
}
