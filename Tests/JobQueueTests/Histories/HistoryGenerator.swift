import API
import Model
import Statistics
import TestSupport

/// A step that is requested from one of the coordinators, and its fault.
struct Action: Sendable {
    var step: Step
    var coordinator = 0
    var fault = Fault.none

    enum Fault: Hashable, Sendable {
        case none
        /// Carried out, and the coordinator dies before it can answer.
        case answerLost
        /// Its connection is killed after so many round trips of another one.
        case killed(after: Int)
    }
}

/// Actions that run at the same time; mostly there is one.
struct Event: Sendable {
    var actions: [Action]
}

/// Makes up histories from a seed, looking at the model so that most of what is asked makes sense
/// and the rest is wrong on purpose.
struct HistoryGenerator {
    static let coordinators = 3
    static let workers = 3
    static let maxCatalogs = 3
    private static let names = ["f0", "f1", "f2", "f3", "t0", "t1"]

    var random: SeededRandom
    private let catalogs: Int
    /// What the first catalog has when a history begins with it completed, and being refreshed.
    private(set) var beginsWhole = false
    private(set) var firstSpecs: [AssetSpec] = []
    private var nextLease = 0
    var nextSplit = 0
    var nextDigest = 0
    /// What was sent last to each catalog, to be sent again.
    private var lastAdds: [Int: Step] = [:]
    private var unanswered: Step?

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        catalogs = [1, 1, 1, 2, 2, 3].randomElement(using: &random) ?? 1
        beginsWhole = chance(0.35)
        firstSpecs = ["f0", "f1", "t0"].map { Self.spec(0, $0) }
    }

    // MARK: Events

    mutating func event(_ model: QueueModel, _ tickets: [Ticket]) -> Event {
        if let again = unanswered {
            unanswered = nil
            // Whoever got no answer asks again, another coordinator perhaps.
            if chance(0.7) { return Event(actions: [action(renewed(again))]) }
        }
        if chance(0.25) {
            let count = Int.random(in: 2...4, using: &random)
            var steps = (0..<count).map { _ in self.step(model, tickets) }
            // Time passes between requests; two sweeps at once are one step of their own.
            steps.removeAll { $0.isOfTime }
            if let first = steps.firstIndex(where: \.isSweep) {
                steps = steps.enumerated().filter { $0.offset <= first || !$0.element.isSweep }
                    .map(\.element)
            }
            if chance(0.2), let report = steps.first(where: \.isReport) { steps.append(report) }
            if chance(0.3), case .claim(let lease, let worker, _, _)? = steps.last {
                steps.append(.release(worker: worker, lease: lease))
            }
            if steps.count > 1 { return Event(actions: steps.map { action($0) }) }
        }
        let step = self.step(model, tickets)
        var single = action(step)
        if !step.isOfTime && !step.isSweep {
            if chance(0.12) {
                single.fault = .answerLost
                unanswered = step
            } else if chance(0.05) {
                single.fault = .killed(after: Int.random(in: 0...6, using: &random))
                unanswered = step
            }
        }
        return Event(actions: [single])
    }

    private mutating func action(_ step: Step) -> Action {
        Action(step: step, coordinator: Int.random(in: 0..<Self.coordinators, using: &random))
    }

    /// A claim is repeated with its own lease, or returned; all else is repeated as it
    /// was.
    private mutating func renewed(_ step: Step) -> Step {
        guard case .claim(let lease, let worker, let sites, let most) = step else { return step }
        if chance(0.5) { return .release(worker: worker, lease: lease) }
        return .claim(lease: takeLease(), worker: worker, sites: sites, most: most)
    }

    private mutating func step(_ model: QueueModel, _ tickets: [Ticket]) -> Step {
        let number = Int.random(in: 0..<catalogs, using: &random)
        // A queue that is held is let go again soon, or little would happen.
        if let held = model.queues.filter({ $0.value != .active }).keys.min(), chance(0.25) {
            return .control(site: held, .active)
        }
        if let later = model.catalogs.filter(\.value.isHeldBack).keys.min(), chance(0.25) {
            return .operate(Operation(action: .reschedule, catalog: later))
        }
        // Most often what has to come first does.
        if chance(0.85) {
            guard let catalog = model.catalogs[number] else { return .open(number) }
            if catalog.assets.isEmpty { return add(number, model) }
            if catalog.generation == 0 { return start(number, model) }
        }
        let step: Step? =
            switch Int.random(in: 0..<112, using: &random) {
            case 0..<4: .open(number)
            case 4..<11: add(number, model)
            case 11..<19: start(number, model)
            case 19..<22: .interrupt(number)
            case 22..<36: claim()
            case 36..<39: heartbeat(model)
            case 39..<40: release(model)
            case 40..<80: work(model, tickets)
            case 80..<88: expire(model)
            case 88..<93: .sweep(chance(0.3) ? 2 : 1)
            case 93..<94: .fold
            case 94..<96: .due
            case 96..<97: .tidy
            case 97..<106: operate(number, model)
            case 106..<109: volume(model)
            default: control()
            }
        return step ?? claim()
    }

    // MARK: Operators

    private mutating func operate(_ catalog: Int, _ model: QueueModel) -> Step {
        var operation = Operation(
            action: SelectionAction.Action.allCases
                .filter { ![.remove, .forget, .pin, .unpin].contains($0) }
                .randomElement(using: &random) ?? .cancel,
            catalog: catalog)
        // A retry makes most sense of what has failed, or was cancelled.
        let assets = model.catalogs[catalog]?.assets ?? [:]
        let failed = assets.filter { [.failed, .cancelled].contains($0.value.state) }.keys.sorted()
        if !failed.isEmpty && chance(0.3) { operation.action = .retry }
        if assets.values.contains(where: \.isPaused) && chance(0.3) { operation.action = .resume }
        // A refresh, of what is whole.
        if assets.values.contains(where: { $0.state == .completed }) && chance(0.5) {
            operation.action = .refresh
            if chance(0.6) { return .operate(operation) }
        }
        if operation.action == .reschedule {
            operation.isHeldBack = model.catalogs[catalog]?.isHeldBack != true
            return .operate(operation)
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3: break
        case 3..<7:
            let names = operation.action == .retry && !failed.isEmpty ? failed : Self.names
            operation.asset = names.randomElement(using: &random)
        default:
            let codes = Set(assets.values.flatMap(\.failures)).map(\.rawValue).sorted()
            operation.code = FailureCode(
                codes.randomElement(using: &random) ?? "origin.http.404")
            if chance(0.4) { operation.catalog = nil }
            if chance(0.1) { operation.asset = Self.names.randomElement(using: &random) }
        }
        if operation.action == .reprioritise {
            operation.priority = Int.random(in: 0...9, using: &random)
        }
        return .operate(operation)
    }

    private mutating func control() -> Step {
        .control(
            site: chance(0.8) ? 0 : 1,
            QueueState.allCases.randomElement(using: &random) ?? .active)
    }

    private mutating func volume(_ model: QueueModel) -> Step {
        let site = chance(0.7) ? 0 : 1
        guard !chance(0.2), nextLease > 0 else { return .acceptVolume(site: site) }
        let lease = model.leases.keys.sorted().randomElement(using: &random) ?? nextLease
        let owner = model.leases[lease]?.worker
        return .recordVolume(
            worker: chance(0.9) ? owner ?? worker() : worker(), lease: lease, site: site,
            volume: Int.random(in: 1...4, using: &random),
            fileSystem: chance(0.8) ? Int.random(in: 1...3, using: &random) : nil)
    }

    // MARK: Submissions

    private mutating func add(_ catalog: Int, _ model: QueueModel) -> Step {
        if let last = lastAdds[catalog], chance(0.15) { return last }
        let opened = model.catalogs[catalog]?.opened ?? 1
        let named = Self.names.shuffled(using: &random)
            .prefix(Int.random(in: 1...Self.names.count, using: &random))
        let specs = named.map { name in
            spec(catalog, name, variant: chance(0.8) ? 0 : Int.random(in: 1...5, using: &random))
        }
        let step = Step.add(
            catalog, generation: chance(0.9) ? opened : max(1, opened - 1), Array(specs))
        lastAdds[catalog] = step
        return step
    }

    private mutating func start(_ catalog: Int, _ model: QueueModel) -> Step {
        let opened = model.catalogs[catalog]?.opened ?? 1
        return .start(catalog, generation: chance(0.92) ? opened : max(1, opened - 1))
    }

    /// Keys name the catalog, a folder and the asset, so that a key identifies its job.
    static func spec(_ catalog: Int, _ name: String, variant: Int = 0) -> AssetSpec {
        let number = Int(name.dropFirst()) ?? 0
        let isFile = name.hasPrefix("f")
        let folder = variant == 3 ? 2 : number % 2
        let file = isFile ? "" : "/main.m3u8"
        var spec = AssetSpec(
            name: name, kind: isFile ? .file : .hls,
            url: "http://o\(number % 2).test/c\(catalog)/\(name)\(file)",
            key: "c\(catalog)/d\(folder)/\(name)\(file)")
        switch (variant, isFile) {
        case (1, true): spec.sha256 = String(repeating: "a", count: 64)
        case (2, true): spec.bytes = 77
        case (1...2, false): spec.url += "?v=\(variant)"
        case (4, _): spec.url += "?Signature=\(variant)"
        case (5, _): spec.url += "?session=\(variant)"
        default: break
        }
        return spec
    }

    private func spec(_ catalog: Int, _ name: String, variant: Int) -> AssetSpec {
        Self.spec(catalog, name, variant: variant)
    }

    // MARK: Leases

    mutating func takeLease() -> Int {
        nextLease += 1
        return nextLease
    }

    private mutating func claim() -> Step {
        let sites = chance(0.4) ? [] : [Int.random(in: 0...1, using: &random)]
        return .claim(
            lease: takeLease(), worker: worker(), sites: chance(0.3) ? [0] : sites,
            most: chance(0.3) ? 100 : Int.random(in: 1...5, using: &random))
    }

    private mutating func heartbeat(_ model: QueueModel) -> Step? {
        guard nextLease > 0 else { return nil }
        let leases = Set((0..<4).map { _ in Int.random(in: 1...nextLease, using: &random) })
        return .heartbeat(worker: worker(), leases: leases.sorted())
    }

    private mutating func release(_ model: QueueModel) -> Step? {
        guard nextLease > 0 else { return nil }
        let lease = Int.random(in: 1...nextLease, using: &random)
        return .release(worker: model.leases[lease]?.worker ?? worker(), lease: lease)
    }

    private mutating func expire(_ model: QueueModel) -> Step? {
        let live = model.leases.filter { !$0.value.isOverdue }.keys.sorted().shuffled(
            using: &random)
        guard !live.isEmpty else { return nil }
        return .expire(Array(live.prefix(Int.random(in: 1...live.count, using: &random))))
    }

    // MARK: Random choices

    mutating func worker() -> Int { Int.random(in: 0..<Self.workers, using: &random) }

    mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < probability
    }
}
