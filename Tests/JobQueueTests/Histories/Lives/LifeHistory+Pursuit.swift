import API
import JobQueue
import Model
import TestSupport

/// Steps towards changes of state that no history has seen yet.
extension LifeHistory {
    /// Asks for such a change of one of the assets; false if none is in a state for one.
    mutating func pursue() async throws -> Bool {
        unseen.subtract(try await fixture.transitions.seen())
        let states = try await states()
        let wanted = unseen.sorted().flatMap { edge in
            states.filter { $0.value.state.rawValue == edge.old }.map { (edge, $0.key) }
        }.sorted { ($0.0.description, $0.1.description) < ($1.0.description, $1.1.description) }
        guard let (edge, asset) = wanted.randomElement(using: &random),
            let old = AssetState(rawValue: edge.old), let new = AssetState(rawValue: edge.new)
        else { return false }
        log.append("\(asset): \(old) to \(new)?")
        try await change(asset, from: old, to: new)
        return true
    }

    private mutating func change(
        _ asset: LifeAsset, from old: AssetState, to new: AssetState
    ) async throws {
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
            try await lose(disk.sorted().first { $0.contains("/\(asset.name)") })
        case .failed where [.new, .interrupted, .cancelled].contains(old):
            try await refuse(asset, isOther: isOther)
        case .failed where old != .publishing: try await failWork(of: asset)
        case .resolving, .ready,
            .inProgress where old.isSettled || old == .new:
            try await submit([Named(name: asset.name, isOther: isOther)], to: asset.catalog)
        default: try await advance(asset)
        }
    }

    /// Another catalog stores another object under its key, then it is started.
    private mutating func refuse(_ asset: LifeAsset, isOther: Bool) async throws {
        let rival = Self.catalogs.first { $0 != asset.catalog } ?? ""
        try await submit([Named(name: asset.name, isOther: !isOther)], to: rival)
        try await finish(rounds: 4)
        try await submit([Named(name: asset.name, isOther: isOther)], to: asset.catalog)
    }

    /// Goes on with a job of an asset, which is leased if it is not.
    private mutating func advance(_ asset: LifeAsset) async throws {
        if let index = index(of: asset) { return try await work(index) }
        try await fixture.skipDelays()
        try await lease(100)
    }

    private mutating func failWork(of asset: LifeAsset) async throws {
        guard let index = index(of: asset) else { return try await advance(asset) }
        let work = held.remove(at: index)
        log.append("fail \(work.job.kind) \(work.job.key)")
        _ = try await fixture.report([F.failed(work.job, work.grant, "origin.http.404")])
    }

    /// Of a held job: of whichever catalog, as its key does not tell.
    private func index(of asset: LifeAsset) -> Int? {
        held.firstIndex { $0.job.key.contains("/\(asset.name)") && $0.job.kind != .checksums }
    }
}
