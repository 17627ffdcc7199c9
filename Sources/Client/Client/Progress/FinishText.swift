package import API
import Model
import Rendering
import Text

/// Describes when a catalog ends, and why then.
package enum FinishText {
    /// Returns text such as `finishes at 02:10 UTC (in 3:20:00) at the rate of 3 workers, in time for
    /// its deadline`.
    package static func line(_ finish: CatalogFinish) -> String {
        switch finish.estimate {
        case .finishes(let at, let seconds, let bound):
            let time = TimeText.coming(at, seconds: seconds)
            let isInTime = finish.deadline == .met ? ", in time for its deadline" : ""
            return "finishes \(time)\(text(bound))\(isInTime)"
        case .unknown(let cause): return "end unknown: \(text(cause))"
        }
    }

    private static func text(_ bound: CatalogFinish.Bound) -> String {
        switch bound {
        case .workers(let count): " at the rate of \(HumanFormat.count(count, "worker"))"
        case .originLimit(let origin, let origins):
            " at the limit of \(printable(redacted(url: origin)))"
                + (origins > 1 ? " and \(HumanFormat.count(origins - 1)) more" : "")
        case .siteBandwidth: " at the bandwidth of the site"
        case .schedule: " within the schedule of the site"
        case .notBefore: ", as its last assets may not start before"
        case .otherCatalogs(let count):
            ", sharing the workers with \(HumanFormat.count(count, "other catalog"))"
        case .nothingLeft: ": nothing is left to fetch"
        case .other(let name): ": \(printable(name))"
        }
    }

    private static func text(_ cause: CatalogFinish.UnknownCause) -> String {
        switch cause {
        case .noWorker(let queue): "no worker takes jobs of queue \(printable(queue))"
        case .queuePaused(let queue): "queue \(printable(queue)) is paused"
        case .paused: "all that is left is paused"
        case .siteFailing(let code): "the site cannot be written, \(printable(code.rawValue))"
        case .noRoom(let bytes): "the storage lacks \(HumanFormat.bytes(bytes))"
        case .scheduleClosed: "the schedule does not open long enough"
        case .noRate: "no rate was seen yet"
        case .noSize: "manifests are not read yet"
        case .other(let name): printable(name)
        }
    }
}
