import API
import Model

/// Looks for an order of steps that ran at once which explains their answers.
struct Explainer {
    /// Of each request, the parts that take effect one after the other.
    let steps: [[Step]]
    let answers: [Answer]
    let seen: Snapshot?
    /// What was answered otherwise than expected, on the ways that led nowhere.
    private(set) var findings: [String] = []

    init(steps: [[Step]], answers: [Answer], seen: Snapshot?) {
        self.steps = steps
        self.answers = answers
        self.seen = seen
    }

    /// A state on the way, and what was accepted by the first parts of reports.
    private struct Node: Equatable {
        var model: QueueModel
        var accepted: [Int: Set<Int>] = [:]
        /// Of an operation on every catalog, which they are, and what was changed so far.
        var chosen: [Int: Set<Int>] = [:]
        var changed: [Int: SelectionAnswer] = [:]
    }

    /// Every state that some order of all parts leads to. Orders that reach the same state after
    /// the same parts continue as one.
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
                        var index = progress
                        index[request] += parts
                        if next[index]?.contains(reached) != true {
                            next[index, default: []].append(reached)
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
        switch step {
        case .choose(let operation), .operate(let operation):
            return operate(operation, request, part, node)
        default: break
        }
        var next = node
        let expected = next.model.apply(step)
        if case .claim(let lease, let worker, _, _) = step {
            var works: [Work] = []
            if case .granted(let given) = answer { works = given.map(\.work) }
            if answer == .unknown { works = seen?.held(by: lease) ?? [] }
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

    /// An operation, or one part of an operation on every catalog: what the parts changed is answered
    /// for all together.
    private mutating func operate(
        _ operation: Operation, _ request: Int, _ part: Int, _ node: Node
    ) -> [(Node, Int)] {
        let answer = answers[request]
        let rest = steps[request].count - part
        let none = SelectionAnswer(assets: 0, jobs: 0)
        var ends: [(Node, Int)] = answer == .unknown ? [(node, rest)] : []
        for model in node.model.withFailuresDecided(of: operation) {
            var next = node
            next.model = model
            guard let catalog = operation.catalog else {
                next.chosen[request] = model.catalogs(with: operation.code)
                ends.append((next, 1))
                continue
            }
            var isWritten = true
            if !operation.isPart || next.chosen[request]?.contains(catalog) == true {
                let expected = next.model.apply(.operate(operation))
                switch expected {
                case .selected(let changed, let isCounted):
                    next.changed[request, default: none].assets += changed.assets
                    next.changed[request, default: none].jobs += changed.jobs
                    isWritten = isCounted
                default:
                    // Rejected: the catalogs after it are left as they are.
                    if answer == .unknown || expected.admits(answer, isAlone: steps.count == 1) {
                        ends.append((next, rest))
                    } else {
                        findings.append("\(operation) answered \(answer); expected \(expected)")
                    }
                    continue
                }
            }
            let total = Expected.selected(
                next.changed[request] ?? none, isWritten: isWritten)
            if rest > 1 || answer == .unknown || total.admits(answer, isAlone: steps.count == 1) {
                ends.append((next, 1))
            } else {
                findings.append("\(operation) answered \(answer); expected \(total)")
            }
        }
        return ends
    }
}
