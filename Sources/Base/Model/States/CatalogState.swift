/// State of a catalog; derived from its assets.
package enum CatalogState: String, Codable, CaseIterable, Sendable {
    /// Being submitted; nothing runs yet. Can move to running, completed, failed.
    case open
    /// Its assets are in progress. Can move to interrupted, completed, failed, cancelled, removed.
    case running
    /// Its submitter disconnected. Can move to running, completed, failed, cancelled.
    case interrupted
    /// Every asset is stored. Can move to running, failed.
    case completed
    /// Every asset has ended, at least one of them failed. Can move to running, completed.
    case failed
    /// An operator ended it. Can move to running, completed, failed.
    case cancelled
    /// All its assets were removed, or have expired. Can move to running, completed, failed.
    case removed

    package var isTerminal: Bool { [.completed, .failed, .cancelled, .removed].contains(self) }
}

/// An event of a catalog.
package enum CatalogEvent: String, Codable, CaseIterable, Sendable {
    /// Submitted, refreshed or retried, or assets are removed: some of them are in progress.
    case start
    /// Nothing is in progress, and nothing failed.
    case finished
    /// Nothing is in progress, and something failed.
    case gaveUp
    /// An operator ends it, or nothing is in progress and an operator ended some of its assets.
    case cancel
    /// The submitter disconnected.
    case interrupt
    /// Nothing is in progress, and the files of its last asset are gone.
    case emptied
}

extension CatalogState {
    package static let machine = StateMachine<CatalogState, CatalogEvent>(
        name: "catalog", initial: .open,
        table: [
            .open: [.start: .running, .finished: .completed, .gaveUp: .failed],
            .running: [
                .finished: .completed, .gaveUp: .failed, .cancel: .cancelled,
                .interrupt: .interrupted, .emptied: .removed,
            ],
            .interrupted: [
                .start: .running, .finished: .completed, .gaveUp: .failed, .cancel: .cancelled,
            ],
            .completed: [.start: .running, .gaveUp: .failed],
            .failed: [.start: .running, .finished: .completed],
            .cancelled: [.start: .running, .finished: .completed, .gaveUp: .failed],
            .removed: [.start: .running, .finished: .completed, .gaveUp: .failed],
        ])
}
