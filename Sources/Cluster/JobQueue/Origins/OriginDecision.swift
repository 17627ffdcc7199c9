import Postgres
import Rendering

/// A decision of the cluster about an origin, with the facts that led to it.
enum OriginDecision: Equatable {
    /// Names of decisions in `origin_decision`, and of the events of origins.
    enum Kind: String, CaseIterable { case cooldown, open, halfOpen, failing, closed }

    /// The origin asked for a cooldown.
    case cooldown(code: String, seconds: Double)
    /// Its circuit breaker opened after failures in a row.
    case open(failures: Int64, code: String, seconds: Double)
    /// One job tries it.
    case halfOpen
    /// It stays open after many cooldowns.
    case failing(code: String, openings: Int64)
    /// It has recovered.
    case closed

    /// Decodes a row of `Origins.decisions` without a worker; nil for one that another version wrote.
    init?(row: PostgresRow) throws(PostgresError) {
        let code = try row.optionalString("code") ?? ""
        let seconds = try row.optionalDouble("seconds") ?? 0
        switch Kind(rawValue: try row.string("decision")) {
        case .cooldown: self = .cooldown(code: code, seconds: seconds)
        case .open:
            self = .open(
                failures: try row.optionalInt64("failures") ?? 0, code: code, seconds: seconds)
        case .halfOpen: self = .halfOpen
        case .failing:
            self = .failing(code: code, openings: try row.optionalInt64("openings") ?? 0)
        case .closed: self = .closed
        case nil: return nil
        }
    }

    var kind: Kind {
        switch self {
        case .cooldown: .cooldown
        case .open: .open
        case .halfOpen: .halfOpen
        case .failing: .failing
        case .closed: .closed
        }
    }

    /// The reason for people, in English.
    var reason: String {
        switch self {
        case .cooldown(let code, let seconds):
            "\(code); the origin asked for a cooldown of \(HumanFormat.duration(seconds: seconds))"
        case .open(let failures, let code, let seconds):
            "\(failures) failures in a row, the last \(code); cooldown of "
                + HumanFormat.duration(seconds: seconds)
        case .halfOpen: "one job tries it after its cooldown"
        case .failing(let code, let openings):
            "still \(code) after \(openings) cooldowns; jobs are tried once, until one succeeds"
        case .closed: "a job succeeded"
        }
    }
}
