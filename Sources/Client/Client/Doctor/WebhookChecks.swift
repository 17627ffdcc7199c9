import API
import Model
import Rendering
import Text

/// Judges webhooks by their deliveries.
enum WebhookChecks {
    /// Age of the oldest waiting delivery from which a webhook gets a warning, in seconds.
    static let lateSeconds = 300.0
    private static let maxListed = 20

    /// Judges a list: one check for each webhook that needs attention, 20 at most, and one for all
    /// others.
    static func all(_ list: WebhookList, now: Double) -> [DoctorCheck] {
        guard !list.webhooks.isEmpty else { return [.ok(.webhooks, "webhooks", "there are none")] }
        let found = list.webhooks.compactMap { check($0, now: now) }
        let listed = Array(found.prefix(maxListed))
        let rest = list.webhooks.count - listed.count
        guard rest > 0 else { return listed }
        let others = listed.isEmpty ? "" : "other "
        let hidden = found.count - listed.count
        return listed + [
            .ok(
                .webhooks, "\(others)webhooks",
                hidden == 0
                    ? "\(HumanFormat.count(rest)) without a delivery that is late or has failed"
                    : "\(HumanFormat.count(rest)), of which \(hidden) need attention: dray webhook")
        ]
    }

    /// Returns a warning for a webhook with dead deliveries, or with one that waits after a failure or
    /// for long; nil for others.
    static func check(_ webhook: WebhookStatus, now: Double) -> DoctorCheck? {
        let waited = webhook.waitingSince.map { max(now - $0, 0) } ?? 0
        var facts: [String] = []
        if webhook.dead > 0 {
            facts.append("\(HumanFormat.count(webhook.dead)) dead: failed for good")
        }
        if webhook.isFailing || waited >= lateSeconds {
            facts.append(
                "\(HumanFormat.count(webhook.waiting)) waiting, the oldest for "
                    + HumanFormat.duration(seconds: waited))
        }
        guard !facts.isEmpty else { return nil }
        if let end = webhook.cooldownUntil, end > now {
            facts.append("in cooldown for \(HumanFormat.duration(seconds: end - now))")
        }
        if let last = webhook.lastFailure {
            facts.append("the last failure, \(WebhookText.line(last))")
        }
        var advice =
            "Repair its receiver; see dray webhook deliveries --webhook \(webhook.id)"
            + (webhook.isFailing || webhook.dead == 0 ? "" : " --delivery-state dead") + "."
        if webhook.dead > 0 { advice += " Then dray webhook redeliver sends dead ones again." }
        return .warning(
            .webhooks, "webhook \(webhook.id)",
            "\(printable(webhook.url)): " + facts.joined(separator: "; "), advice: advice,
            code: webhook.lastFailure?.failure.code)
    }
}
