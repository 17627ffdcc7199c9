/// State of an origin's circuit breaker.
package enum OriginBreaker: String, Codable, CaseIterable, Sendable {
    /// Its jobs are leased. Can move to open.
    case closed
    /// Nothing is requested until its cooldown ends. Can move to open, halfOpen, failing,
    /// closed.
    case open
    /// One job tests whether it has recovered. Can move to open, halfOpen, failing,
    /// closed.
    case halfOpen
    /// After many cooldowns without recovery, each of its jobs gets one attempt, until one
    /// succeeds. Can move to closed.
    case failing
}

/// An event of an origin's circuit breaker.
package enum OriginBreakerEvent: String, Codable, CaseIterable, Sendable {
    /// It failed too often in a row, or once more after its cooldown: another, longer one begins.
    case trip
    /// Its cooldown is over: a worker leases the one job that tests it.
    case probe
    /// It failed once more after the maximum number of cooldowns.
    case exhaust
    /// A job succeeded.
    case recover
}

extension OriginBreaker {
    package static let machine = StateMachine<OriginBreaker, OriginBreakerEvent>(
        name: "circuit breaker", initial: .closed,
        table: [
            .closed: [.trip: .open],
            .open: [.trip: .open, .probe: .halfOpen, .exhaust: .failing, .recover: .closed],
            .halfOpen: [.trip: .open, .probe: .halfOpen, .exhaust: .failing, .recover: .closed],
            .failing: [.recover: .closed],
        ])
}
