/// State of an asset.
package enum AssetState: String, Codable, CaseIterable, Sendable {
    /// Submitted; no worker has a job for it yet. Can move to resolving, ready, interrupted,
    /// failed.
    case new
    /// A worker reads its manifest. Can move to new, ready, interrupted, failed, cancelled.
    case resolving
    /// Its segments are known and queued. Once a worker holds one of them, clients see and select
    /// it as inProgress.
    /// Can move to new, inProgress, completed, interrupted, failed, cancelled.
    case ready
    /// At least one segment has a result.
    /// Can move to new, inProgress, verifying, completed, interrupted, failed, cancelled.
    case inProgress
    /// All bytes are stored; large files are hashed as a whole. Returns to inProgress if parts do
    /// not match. Can move to new, inProgress, completed, interrupted, failed, cancelled.
    case verifying
    /// Every required segment is stored. Can move to new, inProgress, refreshing, failed, removing,
    /// expiring.
    case completed
    /// A worker requests each of its files again and stages changed ones; published files stay
    /// unchanged. Can move to new, publishing, completed.
    case refreshing
    /// Its staged files are published. Nothing interrupts that; another worker completes it if one
    /// fails. Can move to completed, failed.
    case publishing
    /// Its submitter disconnected. Can move to new, resolving, inProgress, failed, cancelled,
    /// removing, expiring.
    case interrupted
    /// At least one segment failed permanently, or its key holds another object. Can move to new,
    /// resolving, inProgress, failed, removing,
    /// expiring.
    case failed
    /// An operator ended it. Can move to new, resolving, inProgress, failed,
    /// removing, expiring.
    case cancelled
    /// A worker deletes its files that no other asset of the site needs. Can move to new, removed.
    case removing
    /// Its files are gone. Can move to new.
    case removed
    /// A worker deletes its files, because its rights have expired. Can move to new, expired.
    case expiring
    /// Its rights have expired, and its files are gone. Can move to new.
    case expired

    /// True if the state changes only by a new submission or operation.
    package var isSettled: Bool {
        switch self {
        case .completed, .failed, .cancelled, .interrupted, .removed, .expired: true
        case .new, .resolving, .ready, .inProgress, .verifying, .refreshing, .publishing,
            .removing, .expiring:
            false
        }
    }

    /// True while workers delete its files.
    package var isPurging: Bool { self == .removing || self == .expiring }

    /// True if its files are gone.
    package var isCleared: Bool { self == .removed || self == .expired }

    /// True if nothing of it is stored on purpose: its files are gone, or are being deleted.
    package var isGone: Bool { isPurging || isCleared }
}

/// An event of an asset.
package enum AssetEvent: String, Codable, CaseIterable, Sendable {
    /// Started, with a manifest to read first.
    case resolve
    /// Its manifest has been read: its segments are known and have jobs.
    case resolved
    /// Started, with known segments: missing ones are fetched, stored ones are checked.
    case start
    /// A segment's result was recorded and others are outstanding.
    case progressed
    /// All parts are stored; whole files are being hashed.
    case partsStored
    /// Nothing is outstanding and nothing failed.
    case finished
    /// Nothing is outstanding and something failed.
    case gaveUp
    /// Its key holds another object, so that nothing is fetched for it.
    case refuse
    /// An operator ends it; outstanding segments lose their jobs.
    case cancel
    /// The submitter disconnected, or submitted the catalog again without it.
    case interrupt
    /// Its files are requested again.
    case refresh
    /// All its changes are staged and may be published.
    case publish
    /// An audit found that stored files are missing or damaged.
    case lose
    /// Submitted again with another URL, kind, key, length or digest, or after its removal, or its
    /// manifest is read again without a rendition: its records are dropped.
    case redefine
    /// An operator removes it from the edge.
    case remove
    /// Its site needs the room.
    case evict
    /// Its rights expire.
    case expire
    /// Its last file is deleted.
    case purged
}

extension AssetState {
    package static let machine = StateMachine<AssetState, AssetEvent>(
        name: "asset", initial: .new,
        table: [
            .new: [
                .resolve: .resolving, .start: .ready, .interrupt: .interrupted, .refuse: .failed,
            ],
            .resolving: [
                .redefine: .new, .resolved: .ready, .gaveUp: .failed, .interrupt: .interrupted,
                .cancel: .cancelled,
            ],
            .ready: [
                .redefine: .new, .progressed: .inProgress, .finished: .completed,
                .gaveUp: .failed, .interrupt: .interrupted, .cancel: .cancelled,
            ],
            .inProgress: [
                .redefine: .new, .progressed: .inProgress, .partsStored: .verifying,
                .finished: .completed, .gaveUp: .failed, .interrupt: .interrupted,
                .cancel: .cancelled,
            ],
            .verifying: [
                .redefine: .new, .progressed: .inProgress, .finished: .completed,
                .gaveUp: .failed, .interrupt: .interrupted, .cancel: .cancelled,
            ],
            .completed: [
                .redefine: .new, .start: .inProgress, .refresh: .refreshing, .lose: .failed,
                .remove: .removing, .evict: .removing, .expire: .expiring,
            ],
            .refreshing: [
                .redefine: .new, .publish: .publishing, .finished: .completed,
                .gaveUp: .completed, .interrupt: .completed, .cancel: .completed,
            ],
            .publishing: [.finished: .completed, .gaveUp: .failed],
            .interrupted: [
                .redefine: .new, .resolve: .resolving, .start: .inProgress, .refuse: .failed,
                .cancel: .cancelled, .remove: .removing, .evict: .removing, .expire: .expiring,
            ],
            .failed: [
                .redefine: .new, .resolve: .resolving, .start: .inProgress, .refuse: .failed,
                .remove: .removing, .evict: .removing, .expire: .expiring,
            ],
            .cancelled: [
                .redefine: .new, .resolve: .resolving, .start: .inProgress, .refuse: .failed,
                .remove: .removing, .evict: .removing, .expire: .expiring,
            ],
            .removing: [.redefine: .new, .purged: .removed],
            .removed: [.redefine: .new],
            .expiring: [.redefine: .new, .purged: .expired],
            .expired: [.redefine: .new],
        ])
}
