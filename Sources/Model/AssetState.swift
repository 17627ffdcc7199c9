/// What the cluster knows of an asset.
package enum AssetState: String, Codable, CaseIterable, Sendable {
    /// Submitted; nothing was asked of a worker yet.
    /// Can move to resolving, ready, interrupted, failed, removed.
    case new
    /// A worker reads its manifest.
    /// Can move to new, ready, paused, interrupted, failed, cancelled.
    case resolving
    /// Its segments are known and queued.
    /// Can move to new, inProgress, verifying, completed, paused, interrupted, failed, cancelled.
    case ready
    /// At least one segment has a result.
    /// Can move to new, inProgress, verifying, completed, paused, interrupted, failed, cancelled.
    case inProgress
    /// All bytes are there; large files are hashed as a whole. Back to inProgress when parts did
    /// not fit together. Can move to new, inProgress, completed, paused, interrupted, failed, cancelled.
    case verifying
    /// Every segment it needs is stored; resolved or fetched again when it is submitted again.
    /// Can move to new, resolving, inProgress, refreshing, expired, removed.
    case completed
    /// A worker asks for each of its files anew, and lays what has changed beside what is at the edge, which
    /// stays as it is. Can move to new, switching, completed.
    case refreshing
    /// Its new files take the place of the old ones. Nothing interrupts that; whoever loses it to another worker
    /// loses nothing of it. Can move to completed, failed.
    case switching
    /// Held by an operator. Can move to new, resolving, inProgress, removed.
    case paused
    /// Its submitter went away. Can move to new, resolving, inProgress, failed, removed.
    case interrupted
    /// At least one segment failed for good, or its key holds another object.
    /// Can move to new, resolving, inProgress, failed, removed.
    case failed
    /// An operator wants no more of it. Can move to new, resolving, inProgress, failed, removed.
    case cancelled
    /// Its time at the edge is over. Can move to new, resolving, inProgress, removed.
    case expired
    /// Purged from storage, until it is submitted again. Can move to new, resolving, ready.
    case removed

    /// True when nothing more happens by itself.
    package var isSettled: Bool {
        switch self {
        case .completed, .failed, .cancelled, .paused, .interrupted, .expired, .removed: true
        case .new, .resolving, .ready, .inProgress, .verifying, .refreshing, .switching: false
        }
    }
}

/// What happens to an asset.
package enum AssetEvent: String, Codable, CaseIterable, Sendable {
    /// Started, with a manifest to read first.
    case resolve
    /// Its segments are known and have jobs.
    case resolved
    /// A segment's result was recorded and others are outstanding.
    case progressed
    /// All parts are stored; whole files are being hashed.
    case assembled
    /// Nothing is outstanding and nothing failed.
    case finished
    /// Nothing is outstanding and something failed.
    case gaveUp
    /// Its key holds another object, so that nothing of it is fetched.
    case refuse
    /// An operator ends it; outstanding segments lose their jobs.
    case cancel
    /// Held by an operator; outstanding segments lose their jobs.
    case pause
    /// The submitter went away.
    case interrupt
    /// Its outstanding segments have jobs again.
    case resume
    /// Submitted again after it ended; its files are checked and what is missing is fetched.
    case resubmit
    /// Its files are asked for anew.
    case refresh
    /// All that has changed of it is staged, and may take its place.
    case switchOver
    /// Named again with another URL, kind, key, length or digest: what was known of it is dropped.
    case redefine
    /// Its time at the edge is over.
    case expire
    /// Its files are purged from storage.
    case remove
}

extension AssetState {
    package static let machine = StateMachine<AssetState, AssetEvent>(
        name: "asset", initial: .new,
        table: [
            .new: [
                .resolve: .resolving, .resolved: .ready, .interrupt: .interrupted,
                .refuse: .failed, .remove: .removed,
            ],
            .resolving: [
                .redefine: .new,
                .resolved: .ready, .gaveUp: .failed, .interrupt: .interrupted, .pause: .paused,
                .cancel: .cancelled,
            ],
            .ready: [
                .redefine: .new,
                .progressed: .inProgress, .assembled: .verifying, .finished: .completed,
                .gaveUp: .failed, .interrupt: .interrupted, .pause: .paused, .cancel: .cancelled,
            ],
            .inProgress: [
                .redefine: .new,
                .progressed: .inProgress, .assembled: .verifying, .finished: .completed,
                .gaveUp: .failed, .interrupt: .interrupted, .pause: .paused, .cancel: .cancelled,
            ],
            .verifying: [
                .redefine: .new,
                .progressed: .inProgress, .finished: .completed, .gaveUp: .failed,
                .interrupt: .interrupted, .pause: .paused, .cancel: .cancelled,
            ],
            .completed: [
                .redefine: .new,
                .resubmit: .inProgress, .resolve: .resolving, .refresh: .refreshing,
                .expire: .expired, .remove: .removed,
            ],
            .refreshing: [
                .redefine: .new, .switchOver: .switching, .finished: .completed,
                .gaveUp: .completed, .interrupt: .completed, .cancel: .completed,
            ],
            .switching: [.finished: .completed, .gaveUp: .failed],
            .paused: [
                .redefine: .new, .resolve: .resolving, .resume: .inProgress, .remove: .removed,
            ],
            .interrupted: [
                .redefine: .new, .resolve: .resolving, .resume: .inProgress, .refuse: .failed,
                .remove: .removed,
            ],
            .failed: [
                .redefine: .new, .resolve: .resolving, .resubmit: .inProgress, .refuse: .failed,
                .remove: .removed,
            ],
            .cancelled: [
                .redefine: .new, .resolve: .resolving, .resubmit: .inProgress, .refuse: .failed,
                .remove: .removed,
            ],
            .expired: [
                .redefine: .new, .resolve: .resolving, .resubmit: .inProgress, .remove: .removed,
            ],
            .removed: [.redefine: .new, .resolve: .resolving, .resolved: .ready],
        ])
}
