/// What one attempt of a worker is doing.
package enum TransferState: String, Codable, CaseIterable, Sendable {
    /// To be started. Can move to connecting, stored, failed.
    case queued
    /// On the way to the final answer's header, through redirects.
    /// Can move to queued, connecting, receiving, stored, failed.
    case connecting
    /// The body arrives. Can move to queued, paused, checking, failed.
    case receiving
    /// The site is slower than the origin. Can move to queued, receiving, failed.
    case paused
    /// Length and digest are compared. Can move to storing, failed.
    case checking
    /// Being made durable and put under the final key. Can move to stored, failed.
    case storing
    /// Durable under the final key. Can move to reported.
    case stored
    /// The coordinator has its result. Can move to nothing.
    case reported
    /// Ended with a code. Can move to reported.
    case failed
}

extension TransferState {
    /// It has a connection to its origin.
    package var isAtOrigin: Bool { [.connecting, .receiving, .paused].contains(self) }
}

/// What happens to a transfer.
package enum TransferEvent: String, Codable, CaseIterable, Sendable {
    /// A connection to the origin is opened, or an idle one taken.
    case connect
    /// The object lies under its final key already, and its origin may have said that it is still right.
    case adopt
    /// The origin names another place.
    case redirect
    /// The final answer's header is in.
    case receive
    /// The site cannot take more bytes for now.
    case pause
    /// The site takes bytes again.
    case resume
    /// It is slow, and gives its connection to others; what has come is kept where it can be.
    case stop
    /// The last byte is in.
    case end
    /// Length and digest agree.
    case agree
    /// The bytes are durable under the final key.
    case store
    /// Ended with a failure code, which says whether another attempt helps.
    case fail
    /// The coordinator has answered the report.
    case report
}

extension TransferState {
    package static let machine = StateMachine<TransferState, TransferEvent>(
        name: "transfer", initial: .queued,
        table: [
            .queued: [.connect: .connecting, .adopt: .stored, .fail: .failed],
            .connecting: [
                .redirect: .connecting, .receive: .receiving, .stop: .queued, .adopt: .stored,
                .fail: .failed,
            ],
            .receiving: [.pause: .paused, .stop: .queued, .end: .checking, .fail: .failed],
            .paused: [.resume: .receiving, .stop: .queued, .fail: .failed],
            .checking: [.agree: .storing, .fail: .failed],
            .storing: [.store: .stored, .fail: .failed],
            .stored: [.report: .reported],
            .failed: [.report: .reported],
            .reported: [:],
        ])
}
