import Model

/// Looks for an order of steps that ran at once which explains their answers.
struct Explainer {
    /// Of each request, the parts that take effect one after the other.
    let steps: [[Step]]
    let answers: [Answer]
    let seen: Snapshot
    /// What was answered otherwise than expected, on the ways that led nowhere.
    private(set) var findings: [String] = []

    init(steps: [[Step]], answers: [Answer], seen: Snapshot) {
        self.steps = steps
        self.answers = answers
        self.seen = seen
    }

    /// A state on the way, and what was accepted by the first parts of reports.
    private struct Node: Equatable {
        var model: QueueModel
        var accepted: [Int: Set<Int>] = [:]
    }

    /// Every state that some order of all parts leads to. Orders that come to the same state after
    /// the same parts go on as one.
    mutating func ends(from candidates: [QueueModel]) -> [QueueModel] {
        var layer: [[Int]: [Node]] = [
            steps.map { _ in 0 }: candidates.map { Node(model: $0) }
        ]
        var ends: [QueueModel] = []
        while !layer.isEmpty {
            var next: [[Int]: [Node]] = [:]
            for (progress, nodes) in layer {
                let open = steps.indices.filter { progress[$0] < steps[$0].count }
                if open.isEmpty {
                    for var node in nodes {
                        // Whoever looks has it folded first.
                        node.model.fold()
                        if !ends.contains(node.model) { ends.append(node.model) }
                    }
                }
                for request in open {
                    for (reached, parts) in nodes.flatMap({ go(request, progress[request], $0) }) {
                        var place = progress
                        place[request] += parts
                        if next[place]?.contains(reached) != true {
                            next[place, default: []].append(reached)
                        }
                    }
                }
            }
            layer = next
        }
        return ends
    }

    /// Where a part of a request leads from a state; nowhere when it cannot have been answered so.
    /// Beside each state, how many parts are over then.
    private mutating func go(_ request: Int, _ part: Int, _ node: Node) -> [(Node, Int)] {
        let step = steps[request][part]
        let answer = answers[request]
        var next = node
        let expected = next.model.apply(step)
        if case .claim(let lease, let worker, _, _) = step {
            var works: [Work] = []
            if case .granted(let given) = answer { works = given.map(\.work) }
            if answer == .unknown { works = seen.held(by: lease) }
            next.model.grant(works, under: lease, to: worker)
        }
        // Killed: before this part, and then the others never were; or after it.
        if answer == .unknown { return [(node, steps[request].count - part), (next, 1)] }
        var own = answer
        if case .verdicts(var verdicts) = answer, case .reportRest = step {
            // Those that the first part has accepted are stale to the second.
            for index in node.accepted[request] ?? [] where verdicts.indices.contains(index) {
                verdicts[index] = .stale
            }
            own = .verdicts(verdicts)
        }
        guard expected.admits(own, isAlone: steps.count == 1) else {
            findings.append("\(step.name) answered \(own); expected \(expected)")
            return []
        }
        if case .accepted(let places) = expected { next.accepted[request] = places }
        return [(next, 1)]
    }
}
