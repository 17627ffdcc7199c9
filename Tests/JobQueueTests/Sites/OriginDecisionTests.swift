import Model
import Testing

@testable import JobQueue

/// The cluster's decisions about origins.
@Suite struct OriginDecisionTests {
    /// A decision is recorded as an event of the same name.
    @Test func eachDecisionIsAnEvent() {
        let events = EventKind.all.filter { $0.subject == "origin" }.map(\.rawValue)
        #expect(OriginDecision.Kind.allCases.map { "origin.\($0.rawValue)" } == events)
    }

    @Test(arguments: [
        (OriginDecision.closed, OriginDecision.Kind.closed, "a job succeeded"),
        (.halfOpen, .halfOpen, "one job tries it after its cooldown"),
        (
            .open(failures: 20, code: "origin.reset", seconds: 5), .open,
            "20 failures in a row, the last origin.reset; cooldown of 5.0 s"
        ),
        (
            .cooldown(code: "origin.http.429", seconds: 30), .cooldown,
            "origin.http.429; the origin asked for a cooldown of 30.0 s"
        ),
        (
            .failing(code: "origin.dns", openings: 8), .failing,
            "still origin.dns after 8 cooldowns; jobs are tried once, until one succeeds"
        ),
    ])
    func eachHasAReason(decision: OriginDecision, kind: OriginDecision.Kind, reason: String) {
        #expect(decision.kind == kind)
        #expect(decision.reason == reason)
    }
}
