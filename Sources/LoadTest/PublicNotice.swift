import Runtime

/// What is told before a load goes to somebody else's place.
package enum PublicNotice {
    /// How long there is to think better of it.
    package static let seconds = 5.0
    private static let mostHosts = 5

    /// Names hosts with an address each, and how much would be sent for how long; nil where nothing is public.
    ///
    /// - Parameter isSearch: the load is raised until a threshold breaks.
    package static func text(
        _ hosts: [(host: String, address: String)], _ scenario: LoadScenario, isSearch: Bool
    ) -> String? {
        guard !hosts.isEmpty else { return nil }
        let named = hosts.prefix(mostHosts).map { "\(printable($0.host)) (\($0.address))" }
        let more = hosts.count > mostHosts ? " and \(hosts.count - mostHosts) more" : ""
        return "this load goes to the public Internet: \(named.joined(separator: ", "))\(more); "
            + (isSearch ? "raised until a threshold breaks" : load(scenario))
    }

    private static func load(_ scenario: LoadScenario) -> String {
        let levels = scenario.stages.flatMap { [$0.from, $0.to] }
        let most = levels.max() ?? 0
        let figure = HumanFormat.fixed(most, places: most == most.rounded() ? 0 : 1)
        let upTo = levels.allSatisfy { $0 == most } ? "" : "up to "
        var who = "requests"
        if case .viewers = scenario.user { who = "viewers" }
        let duration = HumanFormat.duration(seconds: scenario.durationSeconds)
        var text =
            scenario.model == .closed
            ? "\(upTo)\(figure) users at a time, \(who) one after another, for \(duration)"
            : "\(upTo)\(figure) \(who) a second for \(duration)"
        if let requests = scenario.caps.requests {
            text += ", \(HumanFormat.count(requests, "request")) at most"
        }
        if let bytes = scenario.caps.bytes { text += ", \(HumanFormat.bytes(bytes)) at most" }
        return text
    }
}
