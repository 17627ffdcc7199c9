import Model

/// The queue and the model do not agree.
struct Disagreement: Error, Sendable {
    /// What does not agree, in a word or two.
    var kind: String
    /// What was seen, a line each.
    var findings: [String]
}

/// Runs events against the queue and the model, and compares them after each.
struct HistoryRunner {
    private var session: HistorySession
    /// Every state that explains all answers so far. There is one but for a while after a lost
    /// connection, or when requests ran at once.
    private(set) var candidates = [QueueModel()]
    /// What workers have in hand, in the order it was given to them.
    private(set) var tickets: [Ticket] = []
    private(set) var events: [Event] = []

    init(_ cluster: HistoryCluster) { session = HistorySession(cluster) }

    var model: QueueModel { candidates[0] }

    /// Empties the queue first, so that a history depends on nothing before it.
    static func begin(on cluster: HistoryCluster) async throws -> HistoryRunner {
        try await cluster.database.reset()
        return HistoryRunner(cluster)
    }

    @discardableResult
    mutating func run(_ event: Event) async throws -> [Answer] {
        events.append(event)
        let outcomes = try await outcomes(of: event)
        for outcome in outcomes { session.keep(outcome) }
        let answers = outcomes.map(\.answer)
        if event.actions.contains(where: \.step.mayDelay) {
            try await session.cluster.database.keepDelayed()
        }
        let seen = try await session.look()
        try explain(event, answers, seen)
        for (action, answer) in zip(event.actions, answers) { learn(action, answer) }
        return answers
    }

    private func outcomes(of event: Event) async throws -> [HistorySession.Outcome] {
        let session = session
        if event.actions.count == 1 {
            let action = event.actions[0]
            guard case .killed(let trips) = action.fault else {
                return [try await session.run(action.step, on: action.coordinator)]
            }
            return [
                try await session.cluster.killing(action.coordinator, after: trips) {
                    try await session.run(action.step, on: action.coordinator)
                }
            ]
        }
        return try await withThrowingTaskGroup(of: (Int, HistorySession.Outcome).self) { group in
            for (index, action) in event.actions.enumerated() {
                group.addTask {
                    (index, try await session.run(action.step, on: action.coordinator))
                }
            }
            var outcomes = [Int: HistorySession.Outcome]()
            for try await (index, outcome) in group { outcomes[index] = outcome }
            return event.actions.indices.compactMap { outcomes[$0] }
        }
    }

    /// A worker knows what it was given, if the answer came.
    private mutating func learn(_ action: Action, _ answer: Answer) {
        guard action.fault != .answerLost, case .claim(let lease, _, _, _) = action.step,
            case .granted(let given) = answer
        else { return }
        tickets += given.map { Ticket(lease: lease, work: $0.work) }
    }

    // MARK: Explaining

    /// Keeps the candidates that some order of the event's steps leads to, with these answers, and
    /// that look like what was seen.
    private mutating func explain(
        _ event: Event, _ answers: [Answer], _ seen: Snapshot
    ) throws(Disagreement) {
        let isAlone = event.actions.count == 1
        var reached: [QueueModel] = []
        var findings: [String] = []
        for candidate in candidates {
            for order in event.actions.indices.orders {
                var ends = [candidate]
                for index in order {
                    let step = event.actions[index].step
                    ends = ends.flatMap { model in
                        Self.after(
                            step, answers[index], from: model, seen, isAlone: isAlone, &findings)
                    }
                }
                for end in ends where !reached.contains(end) { reached.append(end) }
            }
        }
        guard !reached.isEmpty else {
            let kind = "answer to " + event.actions.map(\.step.name).joined(separator: ", ")
            throw Disagreement(kind: kind, findings: Array(findings.prefix(8)))
        }
        let compared = reached.map { ($0, $0.disagreements(with: seen)) }
        let agreeing = compared.filter(\.1.isEmpty).map(\.0)
        guard !agreeing.isEmpty else {
            // What comes closest says most.
            let closest = compared.map(\.1).min { $0.count < $1.count } ?? []
            throw Disagreement(kind: closest.first.map(Self.kind) ?? "", findings: closest)
        }
        candidates = Array(agreeing.prefix(Self.mostCandidates))
    }

    /// What a finding is of, without numbers.
    private static func kind(_ finding: String) -> String {
        finding.prefix { $0 != ":" }.filter { !$0.isNumber }
    }

    private static let mostCandidates = 16

    /// Where a step leads from a state when it was answered so; nowhere when it cannot have been.
    private static func after(
        _ step: Step, _ answer: Answer, from model: QueueModel, _ seen: Snapshot, isAlone: Bool,
        _ findings: inout [String]
    ) -> [QueueModel] {
        var next = model
        let expected = next.apply(step)
        var works: [Work] = []
        if case .granted(let given) = answer { works = given.map(\.work) }
        if answer == .unknown {
            if case .claim(let lease, let worker, _, _) = step {
                next.grant(seen.held(by: lease), under: lease, to: worker)
            }
            return [model, next]
        }
        guard expected.admits(answer, isAlone: isAlone) else {
            findings.append("\(step.name) answered \(answer); expected \(expected)")
            return []
        }
        if case .claim(let lease, let worker, _, _) = step {
            next.grant(works, under: lease, to: worker)
        }
        return [next]
    }
}

extension Step {
    /// Its first word.
    fileprivate var name: Substring { description.prefix { $0.isLetter } }

    /// Whether it may leave work waiting for a time.
    fileprivate var mayDelay: Bool {
        guard case .report(_, let results) = self else { return false }
        return results.contains { result in
            if case .failed = result.outcome { true } else { false }
        }
    }
}

extension Range<Int> {
    /// All orders of its numbers.
    fileprivate var orders: [[Int]] {
        reduce(into: [[]]) { orders, number in
            orders = orders.flatMap { order in
                (0...order.count).map { place in
                    var longer = order
                    longer.insert(number, at: place)
                    return longer
                }
            }
        }
    }
}
