package import Model

/// What one attempt of a worker is doing.
///
/// The states that other threads see of a transfer; `TransferLife` has their data on its loop.
package enum TransferState: String, CaseIterable, Sendable {
    /// To be started, or stopped in favour of others. Can move to connecting, failed.
    case queued
    /// On the way to the final answer's header, through redirects and retries, and to an open
    /// destination. Can move to queued, connecting, receiving, unchanged, failed.
    case connecting
    /// The body arrives. Can move to queued, checking, failed.
    case receiving
    /// All of the body is there, and its digests are compared. Can move to connecting, fetched, failed.
    case checking
    /// Length and digests agree; its owner makes it durable. Can move to nothing.
    case fetched
    /// The origin has not changed the object that is stored. Can move to nothing.
    case unchanged
    /// Ended with a code. Can move to nothing.
    case failed

    /// It has a connection to its origin.
    package var isAtOrigin: Bool { self == .connecting || self == .receiving }
}

/// What happens to a transfer.
package enum TransferEvent: String, CaseIterable, Sendable {
    /// A request is sent: the first one, one that a redirect leads to, or the same in another way.
    case connect
    /// The final answer's header is accepted, and the body has a destination.
    case receive
    /// It is slow, and gives its connection to others; what has come is kept where it can be.
    case stop
    /// The last byte is in, and the length agrees.
    case end
    /// The digests agree.
    case agree
    /// The origin answers with status 304.
    case notModified
    /// Ended with a failure code, which says whether another attempt helps.
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
