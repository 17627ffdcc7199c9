/// What the cluster knows of a segment.
package enum SegmentState: String, Codable, CaseIterable, Sendable {
    /// To be fetched; a job stands for it while its asset is under way.
    /// Can move to leased, failed, cancelled.
    case waiting
    /// A lease holds its job. Can move to waiting, done, failed, split, cancelled.
    case leased
    /// Stored under its final key, or as a part of an assembly. Can move to waiting.
    case done
    /// Given up, with a code. Can move to waiting.
    case failed
    /// Replaced by its parts until they are put together; leased to put them together.
    /// Can move to waiting, leased, failed, cancelled.
    case split
    /// No longer wanted. Can move to waiting.
    case cancelled
}

/// What happens to a segment.
package enum SegmentEvent: String, Codable, CaseIterable, Sendable {
    /// A worker takes its job.
    case lease
    /// Its bytes are durable and recorded.
    case store
    /// A failure that a later attempt may heal.
    case retry
    /// A failure for good, or one attempt too many.
    case giveUp
    /// Given back, or its lease ran out.
    case release
    /// Large: its parts are fetched instead.
    case divide
    /// Its asset no longer wants it.
    case cancel
    /// Wanted again after it ended.
    case renew
}

extension SegmentState {
    package static let machine = StateMachine<SegmentState, SegmentEvent>(
        name: "segment", initial: .waiting,
        table: [
            // Failed: it waited for a fresh URL, and there is none.
            .waiting: [.lease: .leased, .giveUp: .failed, .cancel: .cancelled],
            .leased: [
                .store: .done, .retry: .waiting, .giveUp: .failed, .release: .waiting,
                .divide: .split, .cancel: .cancelled,
            ],
            .split: [
                .lease: .leased, .renew: .waiting, .giveUp: .failed, .cancel: .cancelled,
            ],
            .done: [.renew: .waiting],
            .failed: [.renew: .waiting],
            .cancelled: [.renew: .waiting],
        ])
}
