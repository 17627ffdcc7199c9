internal import Model
package import Storage

/// Rules for resuming an interrupted body: from an earlier attempt, and for the next one.
package struct Resumption: Sendable {
    /// Partial body of an earlier attempt; nil for none.
    package var partial: PartialBody?
    /// Minimum bytes of an interrupted body that are kept.
    package var minimumBytes: Int64 = 1 << 20
    /// The same when the transfer was cancelled, as by a pause: the next attempt is certain.
    package var minimumCancelledBytes: Int64 = 64 << 10
    /// Maximum bytes that may be lost when the process is killed.
    package var noteBytes: Int64 = 8 << 20
    /// Object length, in bytes, from which progress is already recorded at `minimumBytes`. Such an
    /// object has reserved its whole space by then, and the next attempt identifies it by the
    /// record.
    package var longBytes: Int64 = 64 << 20
    /// Records the progress of the object; called on a loop at each interval, must not block.
    package var note: @Sendable (PendingObject?, PartialRecord) -> Void
    /// True if a digest from the list is compared with the whole in the end. Then the rest may come
    /// from another URL than the start.
    package var isGuarded = false
    /// Sink of a partial body outside the sites' storage, which also receives its rest.
    package var sink: (any TransferSink)?

    package init(
        partial: PartialBody? = nil, sink: (any TransferSink)? = nil,
        note: @escaping @Sendable (PendingObject?, PartialRecord) -> Void
    ) {
        self.partial = partial
        self.sink = sink
        self.note = note
    }
}

extension FailureCode {
    /// True if the transfer was interrupted and the received bytes remain valid.
    var leavesBody: Bool {
        switch self {
        case .originProtocol, .originHTTP416: false
        case _ where countsAgainstRanges: false
        case .workerCancelled, .workerLeaseLost: true
        // An expired signature: the next attempt uses a new one.
        case .originHTTP401, .originHTTP403: true
        default: family == "origin" && row.isRetryable
        }
    }
}
