internal import Model
package import Storage

/// How a body that breaks off is gone on with: by this transfer where an earlier attempt left it, and
/// by the next one where this one leaves it.
package struct Resumption: Sendable {
    /// What an earlier attempt left of what is asked for; nil for nothing.
    package var partial: PartialBody?
    /// A body that breaks off earlier, in bytes, is not kept.
    package var minimumBytes: Int64 = 1 << 20
    /// How much may be lost when the process is killed, in bytes.
    package var noteBytes: Int64 = 8 << 20
    /// Of an object of so many bytes the first `minimumBytes` are noted already: its room is all taken by
    /// then, and the next attempt finds whose it is by what is noted.
    package var longBytes: Int64 = 64 << 20
    /// Called on a loop each time so much has come, to have it written down how far the object is; must
    /// not block.
    package var note: @Sendable (PendingObject?, PartialRecord) -> Void
    /// A digest that the list names is compared with the whole in the end: the rest may come from another
    /// URL than what lies there.
    package var isGuarded = false
    /// Where a partial body lies that is in no site's storage, and its rest is to go.
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
    /// The transfer broke off; what had come by then is as good as before.
    var leavesBody: Bool {
        switch rawValue {
        case "origin.protocol", "origin.http.416": false
        case _ where speaksAgainstRanges: false
        case "worker.cancelled", "worker.leaseLost": true
        // What was signed has run out: it is asked for again with another signature.
        case "origin.http.401", "origin.http.403": true
        default: rawValue.hasPrefix("origin.") && row.isRetryable
        }
    }
}
