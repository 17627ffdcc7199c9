import Rendering
import Text

/// The notice before a load goes to public hosts.
package enum PublicNotice {
    /// Seconds to interrupt the test before it starts.
    package static let seconds = 5.0
    private static let maxHosts = 5

    /// The runs of a scenario and their loads.
    package enum Mode: Sendable, Equatable {
        case once
        /// Starts at the scenario's load and never exceeds `most`.
        case search(most: Double)
        /// One run per number of workers, each with the scenario's users.
        case scale([Int])
    }

    /// Returns the hosts with one address each, the load and its duration; nil if no host is
    /// public.
    package static func text(
        _ hosts: [(host: String, address: String)], _ scenario: LoadScenario, _ mode: Mode
    ) -> String? {
        guard !hosts.isEmpty else { return nil }
        let named = hosts.prefix(maxHosts).map { "\(printable($0.host)) (\($0.address))" }
        let more = hosts.count > maxHosts ? " and \(hosts.count - maxHosts) more" : ""
        return "this load goes to the public Internet: \(named.joined(separator: ", "))\(more); "
            + load(scenario, mode)
    }

    private static func load(_ scenario: LoadScenario, _ mode: Mode) -> String {
        var who = "requests"
        if case .viewers = scenario.user { who = "viewers" }
        let levels = scenario.stages.flatMap { [$0.from, $0.to] }
        let own = levels.max() ?? 0
        var text: String
        switch mode {
        case .search(let most):
            let unit = scenario.model == .closed ? "concurrent users" : "\(who) per second"
            text = "raised until a threshold fails, up to \(figure(max(most, own))) \(unit)"
        case .once, .scale:
            var workers = 1
            if case .scale(let steps) = mode { workers = steps.max() ?? 1 }
            let isOne = workers == 1 && levels.allSatisfy { $0 == own }
            let most = (isOne ? "" : "up to ") + figure(own * Double(workers))
            let duration = HumanFormat.duration(seconds: scenario.durationSeconds)
            text =
                scenario.model == .closed
                ? "\(most) concurrent users, \(who) one after another, for \(duration)"
                : "\(most) \(who) per second for \(duration)"
            if case .scale(let steps) = mode, steps.count > 1 {
                text += ", \(steps.count) times, with up to \(workers) workers"
            }
        }
        if let requests = scenario.caps.requests {
            text += ", at most \(HumanFormat.count(requests, "request"))"
        }
        if let bytes = scenario.caps.bytes { text += ", at most \(Quantity.bytes(Double(bytes)))" }
        return text
    }

    private static func figure(_ number: Double) -> String {
        HumanFormat.fixed(number, places: number == number.rounded() ? 0 : 1)
    }
}
