internal import Model

/// The life of a transfer that has a slot, as a value.
///
/// Each event is a method; where it has consequences the method returns them, and the owner performs
/// them. The state that other threads see is `TransferState`.
struct TransferLife {
    enum Phase {
        /// No request has been sent. Can move to connecting.
        case queued
        /// On the way to the final answer's header.
        /// Can move to connecting, judging, discarding, aborting.
        case connecting(Connecting)
        /// The answer is a redirect or an error: bytes of its body are dropped.
        /// Can move to connecting, aborting.
        case discarding
        /// The header of what was requested is compared with what is expected.
        /// Can move to opening, receiving, aborting.
        case judging
        /// Another thread opens the destination, and libcurl is paused. Can move to receiving.
        case opening(Opening)
        /// The body arrives. Can move to checking, aborting.
        case receiving(Receiving)
        /// All of the body is there; its length and digests are compared. Can move to connecting.
        case checking(Receiving)
        /// Ended inside a callback of libcurl, which reports the end next.
        /// Can move to connecting.
        case aborting(Aborting)
    }

    struct Connecting {
        /// A limit left no connection or request for it after all.
        var isPostponed = false
        /// Why the last address that was tried may not be connected to.
        var addressRefusal: Failure?
    }

    struct Opening {
        var receiving: Receiving
        /// Why the transfer has ended meanwhile. It ends when the destination is open: the next
        /// attempt may open one of the same name.
        var ending: Failure?
    }

    struct Aborting {
        let failure: Failure
        /// The answer was what was requested.
        let isWanted: Bool
        /// What had arrived of it.
        let receiving: Receiving?
    }

    private(set) var phase = Phase.queued
    /// Bytes of the answer's body so far, those of an earlier attempt included.
    private(set) var receivedBytes: Int64 = 0
    /// Of these, the bytes that an earlier attempt left.
    private(set) var resumedBytes: Int64 = 0

    // MARK: Questions

    /// No final answer's header is there yet.
    var isUndecided: Bool {
        switch phase {
        case .queued, .connecting: true
        default: false
        }
    }

    /// The answer is what was requested.
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

    /// It ends as soon as a destination is open or libcurl reports.
    var isEnding: Bool {
        switch phase {
        case .opening(let opening): opening.ending != nil
        case .aborting: true
        default: false
        }
    }

    /// The body that is wanted, once its header has been accepted.
    var receiving: Receiving? {
        switch phase {
        case .opening(let opening): opening.receiving
        case .receiving(let receiving), .checking(let receiving): receiving
        case .aborting(let aborting): aborting.receiving
        case .queued, .connecting, .discarding, .judging: nil
        }
    }

    /// The first part of an object that is split is all there.
    var hasFirstPart: Bool {
        guard case .receiving(let receiving) = phase else { return false }
        return receiving.terms.isFirstPart && receivedBytes == receiving.terms.wantedBytes
    }

    // MARK: Requests

    /// A request is sent.
    mutating func connect() {
        phase = .connecting(Connecting())
        (receivedBytes, resumedBytes) = (0, 0)
    }

    /// An address is tried; with a refusal it is not.
    mutating func tries(addressRefusedWith refusal: Failure?) {
        updateConnecting { $0.addressRefusal = refusal }
    }

    /// The limits of the origin admit a connection or a request, or do not.
    mutating func asksLimits(admitted: Bool) -> Bool {
        updateConnecting { $0.isPostponed = !admitted }
        return admitted
    }

    private mutating func updateConnecting(_ update: (inout Connecting) -> Void) {
        guard case .connecting(var connecting) = phase else { return }
        update(&connecting)
        phase = .connecting(connecting)
    }

    /// The header of the final answer is there.
    mutating func answers(isWanted: Bool) {
        phase = isWanted ? .judging : .discarding
        (receivedBytes, resumedBytes) = (0, 0)
    }

    // MARK: The body

    /// Another thread opens the destination.
    mutating func open(_ receiving: Receiving) { phase = .opening(Opening(receiving: receiving)) }

    /// The destination is open, with so many bytes from an earlier attempt.
    mutating func receive(_ receiving: Receiving, resuming bytes: Int64) {
        phase = .receiving(receiving)
        (receivedBytes, resumedBytes) = (bytes, bytes)
    }

    /// What is to be done with a block of a body.
    enum Block {
        /// It belongs to a redirect or an error.
        case drop
        /// More of a redirect or an error than is worth a connection.
        case enough
        /// Its first bytes, so many, belong to the body.
        case write(Int, to: BodyWriter)
        case isMoreThanWanted(Int64)
        case isMoreThanAllowed
    }

    /// A block of `count` bytes arrives.
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

    /// An error page up to this size is read, to keep the connection; a longer one is cut off.
    static let discardedBytesLimit: Int64 = 64 << 10

    /// So many bytes are written; true when it is time to note how many there are.
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

    // MARK: The end

    /// The transfer ends inside a callback of libcurl, which reports that next.
    mutating func abort(_ failure: Failure) {
        guard mayEnd(with: failure) else { return }
        phase = .aborting(Aborting(failure: failure, isWanted: isWanted, receiving: receiving))
    }

    /// What the end of a request means.
    enum Ending {
        /// The limits of the origin left nothing for it: try again later.
        case postpone
        /// It has failed, and ends when its destination is open.
        case awaitDestination
        /// End with a failure of this side.
        case fail(Failure)
        /// End as libcurl says.
        case failInTransport(addressRefusal: Failure?)
        /// An answer without a body: judge its header, then ask again.
        case judge
        /// Follow a redirect, or end with what the status means.
        case conclude
        case check(Receiving)
    }

    /// libcurl reports the end of a request; a status of 0 is no answer.
    func requestEnded(isComplete: Bool, status: Int) -> Ending {
        switch phase {
        case .connecting(let connecting):
            if connecting.isPostponed, !isComplete, status == 0 { return .postpone }
            if isComplete { return .judge }
            return .failInTransport(addressRefusal: connecting.addressRefusal)
        case .opening: return .awaitDestination
        case .aborting(let aborting) where aborting.failure == .discardedEnough: return .conclude
        case .aborting(let aborting): return .fail(aborting.failure)
        case .discarding: return .conclude
        case .receiving(let receiving) where isComplete || hasFirstPart: return .check(receiving)
        case .queued, .judging, .receiving, .checking:
            return .failInTransport(addressRefusal: nil)
        }
    }

    /// The transfer is to end; false when it does so once its destination is open.
    mutating func mayEnd(with failure: Failure) -> Bool {
        guard case .opening(var opening) = phase else { return true }
        if opening.ending == nil { opening.ending = failure }
        phase = .opening(opening)
        return false
    }

    /// The body is complete; its length agrees.
    mutating func check(_ receiving: Receiving) { phase = .checking(receiving) }
}

extension Failure {
    /// Never leaves the transfer: the answer's status is its failure.
    static let discardedEnough = Failure("origin.tooLarge", "an error page")
}
