internal import Model

/// The life of a transfer with a slot, as a value.
///
/// Each event is a method that returns its consequences; the owner performs them. `TransferState`
/// is the state that other threads see.
struct TransferLife {
    enum Phase {
        /// No request has been sent. Can move to connecting.
        case queued
        /// The final response's header has not arrived. Can move to connecting, judging,
        /// discarding, aborting.
        case connecting(Connecting)
        /// The response is a redirect or an error, whose body is dropped. Can move to connecting,
        /// aborting.
        case discarding
        /// The header of a wanted response is checked. Can move to opening, receiving, aborting.
        case judging
        /// Another thread opens the destination, and libcurl is paused. Can move to receiving.
        case opening(Opening)
        /// The body arrives. Can move to checking, aborting.
        case receiving(Receiving)
        /// The body is complete; its length and digests are compared. Can move to connecting.
        case checking(Receiving)
        /// Ended inside a callback of libcurl, which reports the end next. Can move to connecting.
        case aborting(Aborting)
    }

    struct Connecting {
        /// True if a limit left it no connection or request.
        var isPostponed = false
        /// Failure of the last address, if the policy rejected it.
        var addressRejection: Failure?
    }

    struct Opening {
        var receiving: Receiving
        /// The transfer's failure meanwhile. It ends once the destination is open, because the next
        /// attempt may open one of the same name.
        var ending: Failure?
    }

    struct Aborting {
        let failure: Failure
        /// True if the response was the wanted one.
        let isWanted: Bool
        /// The body received so far.
        let receiving: Receiving?
    }

    private(set) var phase = Phase.queued
    /// Bytes of the response's body so far, including those of an earlier attempt.
    private(set) var receivedBytes: Int64 = 0
    /// Those of them that an earlier attempt received.
    private(set) var resumedBytes: Int64 = 0

    // MARK: Questions

    /// True until the final response's header has arrived.
    var isUndecided: Bool {
        switch phase {
        case .queued, .connecting: true
        default: false
        }
    }

    /// True if the response is the wanted one.
    var isWanted: Bool {
        switch phase {
        case .judging, .opening, .receiving, .checking: true
        case .aborting(let aborting): aborting.isWanted
        case .queued, .connecting, .discarding: false
        }
    }

    var isOpening: Bool {
        if case .opening = phase { true } else { false }
    }

    /// True if it ends as soon as a destination is open or libcurl reports.
    var isEnding: Bool {
        switch phase {
        case .opening(let opening): opening.ending != nil
        case .aborting: true
        default: false
        }
    }

    /// The wanted body, once its header has been accepted.
    var receiving: Receiving? {
        switch phase {
        case .opening(let opening): opening.receiving
        case .receiving(let receiving), .checking(let receiving): receiving
        case .aborting(let aborting): aborting.receiving
        case .queued, .connecting, .discarding, .judging: nil
        }
    }

    /// True if the first part of a split object is complete.
    var hasFirstPart: Bool {
        guard case .receiving(let receiving) = phase else { return false }
        return receiving.terms.isFirstPart && receivedBytes == receiving.terms.wantedBytes
    }

    // MARK: Requests

    /// Records that a request is sent.
    mutating func connect() {
        phase = .connecting(Connecting())
        (receivedBytes, resumedBytes) = (0, 0)
    }

    /// Records that an address is tried, or rejected with a failure.
    mutating func tries(addressRefusedWith rejection: Failure?) {
        updateConnecting { $0.addressRejection = rejection }
    }

    /// Records whether the origin's limits admit a connection or a request.
    mutating func asksLimits(admitted: Bool) -> Bool {
        updateConnecting { $0.isPostponed = !admitted }
        return admitted
    }

    private mutating func updateConnecting(_ update: (inout Connecting) -> Void) {
        guard case .connecting(var connecting) = phase else { return }
        update(&connecting)
        phase = .connecting(connecting)
    }

    /// Records that the final response's header has arrived.
    mutating func answers(isWanted: Bool) {
        phase = isWanted ? .judging : .discarding
        (receivedBytes, resumedBytes) = (0, 0)
    }

    // MARK: The body

    /// Records that another thread opens the destination.
    mutating func open(_ receiving: Receiving) { phase = .opening(Opening(receiving: receiving)) }

    /// Records that the destination is open, with the bytes of an earlier attempt.
    mutating func receive(_ receiving: Receiving, resuming bytes: Int64) {
        phase = .receiving(receiving)
        (receivedBytes, resumedBytes) = (bytes, bytes)
    }

    /// The action for a block of a body.
    enum Block {
        /// Drop it: it belongs to a redirect or an error.
        case drop
        /// Stop: the redirect or error is too long to be worth the connection.
        case enough
        /// Write so many of its first bytes to the body.
        case write(Int, to: BodyWriter)
        case isMoreThanWanted(Int64)
        case isMoreThanAllowed
    }

    /// Handles the arrival of a block of `count` bytes.
    mutating func block(of count: Int, maximumBytes: Int64) -> Block {
        guard case .receiving(let receiving) = phase else {
            receivedBytes += Int64(count)
            return receivedBytes <= Self.discardedBytesLimit ? .drop : .enough
        }
        var taken = count
        if let wanted = receiving.terms.wantedBytes, receivedBytes + Int64(count) > wanted {
            guard receiving.terms.isFirstPart else { return .isMoreThanWanted(wanted) }
            taken = Int(wanted - receivedBytes)
        }
        guard receivedBytes + Int64(taken) <= maximumBytes else { return .isMoreThanAllowed }
        return .write(taken, to: receiving.body)
    }

    /// Maximum size of an error page that is read to keep the connection; a longer one is cut off.
    static let discardedBytesLimit: Int64 = 64 << 10

    /// Records written bytes; returns true if the progress must be recorded now.
    mutating func wrote(_ count: Int) -> Bool {
        receivedBytes += Int64(count)
        guard case .receiving(let receiving) = phase else { return false }
        return receivedBytes >= receiving.nextNote
    }

    /// Decides whether a large object is split before `count` more bytes; returns it if so.
    mutating func considerSplit(
        next count: Int, belowBytesPerSecond limit: Double, now: Double
    ) -> LargeObject? {
        guard case .receiving(var receiving) = phase else { return nil }
        let large = receiving.terms.considerSplit(
            receivedBytes: receivedBytes, next: count, belowBytesPerSecond: limit, now: now)
        phase = .receiving(receiving)
        return large
    }

    mutating func updateReceiving(_ update: (inout Receiving) -> Void) {
        guard case .receiving(var receiving) = phase else { return }
        update(&receiving)
        phase = .receiving(receiving)
    }

    // MARK: Ending

    /// Ends the transfer inside a callback of libcurl, which reports the end next.
    mutating func abort(_ failure: Failure) {
        guard mayEnd(with: failure) else { return }
        phase = .aborting(Aborting(failure: failure, isWanted: isWanted, receiving: receiving))
    }

    /// The action for the end of a request.
    enum Ending {
        /// Try again later: the origin's limits left no connection or request.
        case postpone
        /// Wait: it has failed, and ends once its destination is open.
        case awaitDestination
        /// End with a local failure.
        case fail(Failure)
        /// End with libcurl's failure.
        case failInTransport(addressRejection: Failure?)
        /// Judge the header of a response without a body, then decide again.
        case judge
        /// Follow a redirect, or end with the failure for the status.
        case conclude
        case check(Receiving)
    }

    /// Returns the action when libcurl reports the end of a request; a status of 0 means no
    /// response.
    func requestEnded(isComplete: Bool, status: Int) -> Ending {
        switch phase {
        case .connecting(let connecting):
            if connecting.isPostponed, !isComplete, status == 0 { return .postpone }
            if isComplete { return .judge }
            return .failInTransport(addressRejection: connecting.addressRejection)
        case .opening: return .awaitDestination
        case .aborting(let aborting) where aborting.failure == .discardedEnough: return .conclude
        case .aborting(let aborting): return .fail(aborting.failure)
        case .discarding: return .conclude
        case .receiving(let receiving) where isComplete || hasFirstPart: return .check(receiving)
        case .queued, .judging, .receiving, .checking:
            return .failInTransport(addressRejection: nil)
        }
    }

    /// Returns true if the transfer may end now; false if it ends once its destination is open.
    mutating func mayEnd(with failure: Failure) -> Bool {
        guard case .opening(var opening) = phase else { return true }
        if opening.ending == nil { opening.ending = failure }
        phase = .opening(opening)
        return false
    }

    /// Records that the body is complete with the right length.
    mutating func check(_ receiving: Receiving) { phase = .checking(receiving) }
}

extension Failure {
    /// Never leaves the transfer: the response's status is the failure.
    static let discardedEnough = Failure(.originTooLarge, "an error page")
}
