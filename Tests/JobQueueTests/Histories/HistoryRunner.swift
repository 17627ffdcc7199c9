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

    /// - Parameter looks: whether the whole queue is compared, or the answer alone.
    @discardableResult
    mutating func run(_ event: Event, looks: Bool = true) async throws -> [Answer] {
        events.append(event)
        let outcomes = try await outcomes(of: event)
        for outcome in outcomes { session.keep(outcome) }
        let answers = outcomes.map(\.answer)
        if event.actions.contains(where: \.step.mayDelay) {
            try await session.cluster.database.keepDelayed()
        }
        if case .due = event.actions[0].step, event.actions.count == 1 {
            // Nothing of it can be seen.
            for index in candidates.indices { _ = candidates[index].apply(.due) }
            return answers
        }
        try explain(event, answers, looks ? try await session.look() : nil)
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

    /// Keeps the candidates that explain the event and look like what was seen.
    private mutating func explain(
        _ event: Event, _ answers: [Answer], _ seen: Snapshot?
    ) throws(Disagreement) {
        var explainer = Explainer(
            steps: event.actions.map(\.step.parts), answers: answers, seen: seen)
        let reached = explainer.ends(from: candidates)
        guard !reached.isEmpty else {
            let kind = "answer to " + event.actions.map(\.step.name).joined(separator: ", ")
            throw Disagreement(kind: kind, findings: Array(explainer.findings.prefix(8)))
        }
        guard let seen else {
            candidates = Array(reached.prefix(Self.maxCandidates))
            return
        }
        let compared = reached.map { ($0, $0.disagreements(with: seen)) }
        let agreeing = compared.filter(\.1.isEmpty).map(\.0)
        guard !agreeing.isEmpty else {
            // What comes closest says most.
            let closest = compared.map(\.1).min { $0.count < $1.count } ?? []
            throw Disagreement(kind: closest.first.map(Self.kind) ?? "", findings: closest)
        }
        candidates = Array(agreeing.prefix(Self.maxCandidates))
        for index in candidates.indices { candidates[index].learnFailures(from: seen) }
    }

    /// What a finding is of, without numbers.
    private static func kind(_ finding: String) -> String {
        finding.prefix { $0 != ":" }.filter { !$0.isNumber }
    }

    private static let maxCandidates = 16
}

extension Step {
    /// Its first word.
    var name: Substring { description.prefix { $0.isLetter } }

    /// Whether it may leave work waiting for a time.
    fileprivate var mayDelay: Bool {
        guard case .report(_, let results) = self else { return false }
        return results.contains { result in
            if case .failed = result.outcome { true } else { false }
        }
    }
}
