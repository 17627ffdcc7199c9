import API
import JobQueue
import Model
import TestSupport

/// Steps towards changes of state that this history has not seen yet.
extension LifeHistory {
    /// Takes the next step on the shortest way of an asset to such a change; false if none has a way.
    mutating func pursue() async throws -> Bool {
        unseen.subtract(try await fixture.transitions.seen())
        let states = try await states()
        guard let aim = unseen.sorted().randomElement(using: &random) else { return false }
        let ways = states.compactMap { asset, found in
            LifeWay(of: asset, found, to: aim).map { (asset: asset, way: $0) }
        }
        let shortest = ways.map(\.way.steps).min()
        let nearest = ways.filter { $0.way.steps == shortest }.sorted {
            $0.asset.description < $1.asset.description
        }
        guard let (asset, way) = nearest.randomElement(using: &random), let found = states[asset]
        else {
            guard aim.old == AssetState.new.rawValue else { return false }
            return try await add(namedIn: states)
        }
        log.append("\(aim)? \(asset): \(found.state) to \(way.next)")
        try await change(asset, found, to: way.next)
        return true
    }

    /// Names an asset that was never started, without a start: only so one stays `new`.
    private mutating func add(namedIn states: [LifeAsset: Found]) async throws -> Bool {
        let all = Self.catalogs.flatMap { catalog in
            Self.names.map { LifeAsset(catalog: catalog, name: $0) }
        }
        guard let asset = all.filter({ states[$0] == nil }).randomElement(using: &random) else {
            return false
        }
        try await submit([Named(name: asset.name)], to: asset.catalog, isStarted: false)
        return true
    }

    private mutating func change(
        _ asset: LifeAsset, _ found: Found, to new: AssetState
    ) async throws {
        let old = found.state
        let isOther = others.contains(asset)
        switch new {
        case .new:
            // Of one that is gone another submission is enough.
            let entry = Named(name: asset.name, isOther: old.isGone ? isOther : !isOther)
            try await submit([entry], to: asset.catalog)
        case .interrupted: try await interrupt(asset.catalog)
        case .cancelled: try await select(.cancel, asset.name, in: asset.catalog)
        case .removing: try await select(.remove, asset.name, in: asset.catalog)
        case .refreshing: try await select(.refresh, asset.name, in: asset.catalog)
        case .expiring:
            let entry = Named(name: asset.name, isOther: isOther, rights: 50)
            try await submit([entry], to: asset.catalog, isStarted: false)
            try await pass(500)
        case .failed where old == .completed:
            let keys = disk.sorted().filter { $0.contains("/\(asset.name)") }
            try await lose(keys.randomElement(using: &random), isGone: below(2) == 0)
        case .failed where [.new, .interrupted, .cancelled].contains(old):
            try await refuse(asset, isOther: isOther)
        case .resolving where old.isSettled || old == .new,
            .ready where old == .new,
            .inProgress where old.isSettled:
            try await submit([Named(name: asset.name, isOther: isOther)], to: asset.catalog)
        default: try await advance(asset, found, to: new)
        }
    }

    /// Another catalog stores another object under its key, then it is started.
    private mutating func refuse(_ asset: LifeAsset, isOther: Bool) async throws {
        let rival = Self.catalogs.first { $0 != asset.catalog } ?? ""
        try await submit([Named(name: asset.name, isOther: !isOther)], to: rival)
        try await finish(rounds: 4)
        try await submit([Named(name: asset.name, isOther: isOther)], to: asset.catalog)
    }

    // MARK: Work

    /// Ends a job of an asset as leads to a state; leases if workers have none.
    private mutating func advance(
        _ asset: LifeAsset, _ found: Found, to new: AssetState
    ) async throws {
        let index = held.firstIndex { work in
            found.state.isPurging ? work.job.kind == .purge : work.job.asset == found.id
        }
        guard let index else {
            if found.isPaused { try await select(.resume, asset.name, in: asset.catalog) }
            try await makeDue()
            return try await lease(100)
        }
        let work = held.remove(at: index)
        let isDivisible =
            work.job.kind == .fetch && work.job.offset == nil && !work.job.isWhole
        switch (new, work.job.kind) {
        case (.failed, _) where found.state == .publishing: try await failPublication(of: work)
        case (.failed, _): try await fail(work, "origin.http.404")
        case (.inProgress, .verify): try await fail(work, "integrity.multipartMismatch")
        case (.publishing, .refresh): try await stage(work)
        case (.inProgress, _) where isDivisible && !asset.isTitle,
            (.verifying, _) where isDivisible:
            try await split(work)
        default: try await succeed(work)
        }
    }
}

/// The shortest way of an asset to a change of its state.
struct LifeWay {
    /// Changes before the last one.
    var steps: Int
    /// The first change.
    var next: AssetState

    /// Nil if there is none.
    init?(of asset: LifeAsset, _ found: LifeHistory.Found, to aim: TransitionLog.Edge) {
        struct Node: Hashable {
            var state: AssetState
            var isResolved: Bool
        }
        func next(_ node: Node) -> [Node] {
            Set((AssetState.machine.table[node.state] ?? [:]).values).compactMap {
                new -> Node? in
                switch new {
                case .new: Node(state: new, isResolved: !asset.isTitle)
                case .resolving where !asset.isTitle || node.isResolved,
                    .ready where node.state == .new && asset.isTitle,
                    .inProgress where node.state.isSettled && !node.isResolved:
                    nil
                case .ready: Node(state: new, isResolved: true)
                case .failed where node.state == .publishing:
                    Node(state: new, isResolved: !asset.isTitle)
                default: Node(state: new, isResolved: node.isResolved)
                }
            }.sorted { $0.state.rawValue < $1.state.rawValue }
        }
        let start = Node(
            state: found.state, isResolved: found.isResolved || !asset.isTitle)
        // With the first change on the way to each place.
        var ways: [(node: Node, steps: Int, first: AssetState?)] = [(start, 0, nil)]
        var reached: Set<Node> = [start]
        var index = 0
        while index < ways.count {
            let (node, steps, first) = ways[index]
            index += 1
            for step in next(node) {
                if node.state.rawValue == aim.old, step.state.rawValue == aim.new {
                    // A redefined asset is started at once.
                    guard node.state != .new || first == nil else { continue }
                    (self.steps, self.next) = (steps, first ?? step.state)
                    return
                }
                if reached.insert(step).inserted {
                    ways.append((step, steps + 1, first ?? step.state))
                }
            }
        }
        return nil
    }
}
