/// What one attempt of a worker is doing.
package enum TransferState: String, Codable, CaseIterable, Sendable {
    /// Can move to connecting, storing (adopted), failed.
    case queued
    /// Can move to receiving, connecting (redirect), failed.
    case connecting
    /// Can move to paused, checking, failed.
    case receiving
    /// The site is slower than the origin. Can move to receiving, failed.
    case paused
    /// Length and digest are compared. Can move to storing, failed.
    case checking
    /// Being made durable and put under the final key. Can move to stored, failed.
    case storing
    /// Durable under the final key. Can move to reported.
    case stored
    /// The coordinator has its result. The end.
    case reported
    /// Ended with a code. Can move to reported.
    case failed
}

/// What happens to a transfer.
package enum TransferEvent: String, Codable, CaseIterable, Sendable {
    case connect
    /// The object lies under its final key already.
    case adopt
    case redirect
    /// The final answer's header is in.
    case receive
    case pause
    case resume
    /// The last byte is in.
    case end
    /// Length and digest agree.
    case agree
    case store
    case fail
    case report
}

extension TransferState {
    package static let machine = StateMachine<TransferState, TransferEvent>(
        name: "transfer", initial: .queued,
        table: [
            .queued: [.connect: .connecting, .adopt: .stored, .fail: .failed],
            .connecting: [.redirect: .connecting, .receive: .receiving, .fail: .failed],
            .receiving: [.pause: .paused, .end: .checking, .fail: .failed],
            .paused: [.resume: .receiving, .fail: .failed],
            .checking: [.agree: .storing, .fail: .failed],
            .storing: [.store: .stored, .fail: .failed],
            .stored: [.report: .reported],
            .failed: [.report: .reported],
            .reported: [:],
        ])
}
