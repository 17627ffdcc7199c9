import Model
import Statistics
import TestSupport

/// A step that one of the coordinators is asked for, and what goes wrong with it.
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
    private var nextSplit = 0
    private var nextDigest = 0
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

    /// A claim is asked for anew with a lease of its own, or given back; all else is repeated as it
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
            action: SelectionAction.Action.allCases.randomElement(using: &random) ?? .cancel,
            catalog: catalog)
        // A retry makes most sense of what has failed, or was cancelled.
        let assets = model.catalogs[catalog]?.assets ?? [:]
        let failed = assets.filter { [.failed, .cancelled].contains($0.value.state) }.keys.sorted()
        if !failed.isEmpty && chance(0.3) { operation.action = .retry }
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

    /// Keys name the catalog, a folder and the asset, so that a job can be told by its key alone.
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

    // MARK: Work

    /// A report, or what comes before one: segments of a title, a split.
    private mutating func work(_ model: QueueModel, _ tickets: [Ticket]) -> Step? {
        let recent = tickets.suffix(24)
        let live = recent.filter { ticket in
            model.jobs.values.contains { $0.hold == ticket }
        }
        guard let ticket = (chance(0.8) ? live : Array(recent)).randomElement(using: &random)
        else { return nil }
        let worker = self.worker(of: ticket, model)
        let work = model.held(ticket, by: worker) ?? ticket.work
        if work.kind == .resolve, chance(0.6) {
            return .addSegments(worker: worker, ticket, segments(of: work))
        }
        if work.kind == .refresh, chance(0.6) {
            if chance(0.4) { return .beginRefresh(worker: worker, ticket) }
            return handIn(ticket, work, worker, model)
        }
        if work.kind == .switchOver, chance(0.1) { return handIn(ticket, work, worker, model) }
        if work.kind == .fetch, chance(work.offset == nil ? 0.2 : 0.05) {
            nextSplit += 1
            let parts = Int64.random(in: 2...3, using: &random)
            return .split(
                worker: worker, ticket, split: nextSplit,
                totalBytes: (parts - 1) * Step.partBytes + Int64.random(in: 1...9, using: &random))
        }
        var reported = [ticket]
        let most = chance(0.3) ? 8 : Int.random(in: 0...2, using: &random)
        // Old tickets and new ones of the same work, in one batch, in any order.
        let others =
            chance(0.85) ? recent.filter { model.leases[$0.lease]?.worker == worker } : recent
        let same = recent.filter { $0.work == ticket.work && $0 != ticket }
        reported += others.shuffled(using: &random).prefix(most)
        if chance(0.4) { reported += same.suffix(1) }
        reported.shuffle(using: &random)
        return .report(
            worker: worker,
            reported.map { WorkResult(ticket: $0, outcome: outcome(of: $0, worker, model)) })
    }

    private mutating func handIn(
        _ ticket: Ticket, _ work: Work, _ worker: Int, _ model: QueueModel
    ) -> Step? {
        guard let spec = work.asset.flatMap({ model[$0]?.segments[0]?.spec }) else { return nil }
        nextDigest += 1
        let object = StoredObject(
            bytes: Int64.random(in: 0...999, using: &random), sha256: Self.digest(nextDigest))
        return .handIn(worker: worker, ticket, spec, object, switches: chance(0.6))
    }

    private mutating func worker(of ticket: Ticket, _ model: QueueModel) -> Int {
        guard !chance(0.05), let lease = model.leases[ticket.lease] else { return worker() }
        return lease.worker
    }

    private mutating func segments(of work: Work) -> [SegmentSpec] {
        let version = chance(0.85) ? 0 : 1
        let signature = chance(0.2) ? 0 : Int.random(in: 1...5, using: &random)
        let count = Int.random(in: 1...3, using: &random)
        let first = chance(0.2) ? 1 : 0
        let folder = (Int(work.name.dropFirst()) ?? 0) % 2
        return (first..<(first + count)).map { index in
            Self.segment(work, index, version: version, folder: folder, signature: signature)
        }
    }

    /// - Parameter signature: of its URL; 0 for none.
    static func segment(
        _ work: Work, _ index: Int, version: Int, folder: Int, signature: Int
    ) -> SegmentSpec {
        SegmentSpec(
            ordinal: index,
            url: "http://o\(index % 2).test/c\(work.catalog)/\(work.name)/v\(version)/\(index).ts"
                + (signature == 0
                    ? "" : "?\(signature > 3 ? "session" : "Signature")=\(signature)"),
            key: "c\(work.catalog)/d\(folder)/\(work.name)/\(index).ts")
    }

    private mutating func outcome(
        of ticket: Ticket, _ worker: Int, _ model: QueueModel
    ) -> WorkResult.Outcome {
        let work = model.held(ticket, by: worker) ?? ticket.work
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<62: return success(of: work, model)
        case 62..<88: return .failed(failure(of: work), retryAfter: chance(0.1) ? 600 : nil)
        case 88..<94: return .returned
        case 94..<97: return .nothingStored
        default: return .nothingFailed
        }
    }

    private mutating func success(of work: Work, _ model: QueueModel) -> WorkResult.Outcome {
        switch work.kind {
        case .sums: return .written
        case .refresh: return .refreshed(chance(0.5) ? .unchanged : .changed)
        case .switchOver: return .refreshed(chance(0.9) ? .changed : .unchanged)
        case .resolve:
            let sent = work.asset.flatMap { model[$0]?.segments.count } ?? 0
            return .resolved(chance(0.9) ? sent : sent + Int.random(in: -1...1, using: &random))
        case .fetch, .verify:
            nextDigest += 1
            let bytes = model.length(of: work) ?? Int64.random(in: 0...999, using: &random)
            return .stored(
                bytes: chance(0.97) ? bytes : bytes + 1, sha256: Self.digest(nextDigest),
                isAdopted: chance(0.2))
        }
    }

    /// Each digest is another one, so that what was recorded says who recorded it.
    static func digest(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    private mutating func failure(of work: Work) -> FailureCode {
        // Only titles: what mirrors refuse says nothing of a file's own URL.
        if [.fetch, .resolve].contains(work.kind), work.name.hasPrefix("t"), chance(0.4) {
            return "origin.http.403"
        }
        let common: [FailureCode] = [
            "origin.http.502", "origin.http.404", "storage.full", "storage.noRoom",
            "origin.http.429",
            "worker.internal",
        ]
        let own: [FailureCode] =
            switch work.kind {
            case .fetch:
                [
                    "content.changed", "manifest.changed", "content.lengthMismatch",
                    "origin.rangeMismatch", "integrity.assemblyMismatch",
                ]
            case .verify: ["integrity.assemblyMismatch", "integrity.digestMismatch"]
            case .resolve: ["manifest.live"]
            case .sums, .refresh, .switchOver: ["storage.permission"]
            }
        return (chance(0.5) ? own : common).randomElement(using: &random) ?? "worker.internal"
    }

    // MARK: Dice

    private mutating func worker() -> Int { Int.random(in: 0..<Self.workers, using: &random) }

    private mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < probability
    }
}
