package import API
import Model
import Rendering
import Text

/// Describes a catalog's waits and its deadline. The follower, the summaries and `dray status` all
/// use this text.
package enum WaitText {
    /// Maximum number of reasons in a line; JSON has all.
    private static let maxNamed = 2

    /// Returns text such as `waits: the schedule opens at 22:00 UTC (in 3:10:05)`; nil for no
    /// waits.
    package static func line(_ waits: [CatalogWait]) -> String? {
        guard !waits.isEmpty else { return nil }
        return "waits: " + waits.prefix(maxNamed).map(text).joined(separator: "; ")
    }

    static func text(_ wait: CatalogWait) -> String {
        let time = time(of: wait)
        switch wait.reason {
        case .notBefore: return "it starts \(time ?? "later")"
        case .assetsNotBefore: return "its next assets may start \(time ?? "later")"
        case .schedule:
            return time.map { "the schedule opens \($0)" }
                ?? "the schedule is closed and has no next opening"
        case .queuePaused(let queue): return "queue \(printable(queue)) is paused"
        case .noWorker(let queue, let workers):
            return workers == 0
                ? "no worker runs: start `dray worker`"
                : "none of \(HumanFormat.count(workers, "worker")) takes jobs of queue "
                    + printable(queue)
        case .retry(let code):
            let after = code.map { ", after \($0)" } ?? ""
            return "the next retry is \(wait.seconds == 0 ? "due" : time ?? "due")\(after)"
        case .workerSilent(let worker, let leases):
            let name = worker.map { "worker \(printable($0))" } ?? "a worker"
            let more = leases > 1 ? " (\(HumanFormat.count(leases)) leases)" : ""
            return "\(name) does not answer; its lease\(more) ends \(time ?? "soon")"
        case .workerStoring:
            return "workers may still be storing some of its files, which are deleted "
                + (time ?? "later")
        case .originCooldown(let origin, let code, let origins):
            let reason = code.map { ", after \($0)" } ?? ""
            return "the cooldown of \(name(origin, origins)) ends \(time ?? "later")\(reason)"
        case .originLimit(let origin, let origins):
            return "the limits of \(name(origin, origins)) are used up"
        case .paused(let assets):
            return "\(HumanFormat.count(assets, "asset")) \(assets == 1 ? "is" : "are") paused"
        case .neighbour(let queue, let assets):
            return "\(HumanFormat.count(assets, "asset")) \(assets == 1 ? "waits" : "wait") "
                + "for site \(printable(queue))"
        case .siteLimit: return "the bandwidth of the site is used up"
        case .otherCatalogs(let count):
            return "the workers are busy with \(HumanFormat.count(count, "other catalog"))"
        case .other(let name): return printable(name)
        }
    }

    private static func name(_ origin: String, _ origins: Int) -> String {
        let more = origins > 1 ? " and \(HumanFormat.count(origins - 1)) more" : ""
        return printable(redacted(url: origin)) + more
    }

    private static func time(of wait: CatalogWait) -> String? {
        wait.seconds.map { TimeText.coming(wait.until, seconds: $0) }
    }

    // MARK: Totals

    /// Returns text such as `waited 3 h 10 min: closed schedule 3 h 10 min, paused queue 5.0 s`;
    /// nil for less than a second.
    static func line(_ totals: [WaitHistory.Total]) -> String? {
        let seconds = totals.reduce(0) { $0 + $1.seconds }
        guard seconds >= 1 else { return nil }
        let parts = totals.map {
            "\(label($0.reason)) \(HumanFormat.duration(seconds: $0.seconds))"
        }
        return "waited \(HumanFormat.duration(seconds: seconds)): "
            + parts.joined(separator: ", ")
    }

    private static func label(_ reason: String) -> String {
        switch reason {
        case "notBefore": "--not-before"
        case "assetsNotBefore": "start times of assets"
        case "schedule": "closed schedule"
        case "queuePaused": "paused queue"
        case "noWorker": "no worker"
        case "retry": "retries"
        case "workerSilent": "leases of lost workers"
        case "workerStoring": "files that workers may be storing"
        case "originCooldown": "cooldowns of origins"
        case "originLimit": "limits of origins"
        case "paused": "paused assets"
        case "neighbour": "other sites"
        case "siteLimit": "bandwidth of the site"
        case "otherCatalogs": "other catalogs"
        default: printable(reason)
        }
    }
}

/// Describes how a catalog meets its deadline.
package enum DeadlineText {
    /// Returns the deadline's line; nil if it may still be met.
    package static func line(_ status: CatalogStatus) -> String? {
        guard let outlook = status.outlook else { return nil }
        let name =
            "the deadline" + (status.deadline.map { " \(TimeText.minute(ofSeconds: $0))" } ?? "")
        let by = outlook.seconds.map { HumanFormat.duration(seconds: $0) }
        switch outlook.kind {
        case .missed:
            return status.state == .running
                ? "\(name) passed \(by ?? "some time") ago"
                : "\(name) was missed by \(by ?? "some time")"
        case .blocked:
            return "\(name) cannot be met: nothing can start "
                + (by.map { "until \($0) after it" } ?? "before it")
        case .late:
            return "\(name) cannot be met: at this rate it ends \(by ?? "some time") after it"
        }
    }
}

extension CatalogStatus {
    /// True if it ended after its deadline.
    var missedDeadline: Bool { state.isTerminal && outlook?.kind == .missed }
}
