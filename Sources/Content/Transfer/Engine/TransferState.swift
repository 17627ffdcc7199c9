package import Model

/// State of a transfer, as other threads see it; `TransferLife` has the data on its loop.
package enum TransferState: String, CaseIterable, Sendable {
    /// Waiting to start, or stopped in favor of others. Can move to connecting, failed.
    case queued
    /// The final response's header or an open destination is missing, with redirects and retries.
    /// Can move to queued, connecting, receiving, unchanged, failed.
    case connecting
    /// The body arrives. Can move to queued, checking, failed.
    case receiving
    /// The body is complete, and its digests are compared. Can move to connecting, fetched, failed.
    case checking
    /// Length and digests match; its owner makes it durable. Can move to nothing.
    case fetched
    /// The origin has not changed the stored object. Can move to nothing.
    case unchanged
    /// Ended with a code. Can move to nothing.
    case failed

    /// True while it has a connection to its origin.
    package var isAtOrigin: Bool { self == .connecting || self == .receiving }
}

/// An event of a transfer.
package enum TransferEvent: String, CaseIterable, Sendable {
    /// A request is sent: the first one, after a redirect, or a repeated one.
    case connect
    /// The final response's header is accepted, and the body has a destination.
    case receive
    /// It is slow and yields its connection to others; the received bytes are kept if possible.
    case stop
    /// The last byte has arrived, and the length matches.
    case end
    /// The digests match.
    case agree
    /// The origin answers with status 304.
    case notModified
    /// Ended with a failure code, which determines whether another attempt helps.
    case fail
}

extension TransferState {
    package static let machine = StateMachine<TransferState, TransferEvent>(
        name: "transfer", initial: .queued,
        table: [
            .queued: [.connect: .connecting, .fail: .failed],
            .connecting: [
                .connect: .connecting, .receive: .receiving, .stop: .queued,
                .notModified: .unchanged, .fail: .failed,
            ],
            .receiving: [.stop: .queued, .end: .checking, .fail: .failed],
            .checking: [.connect: .connecting, .agree: .fetched, .fail: .failed],
            .fetched: [:],
            .unchanged: [:],
            .failed: [:],
        ])
}
