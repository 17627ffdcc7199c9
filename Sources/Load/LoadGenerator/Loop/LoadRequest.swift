internal import Curl
internal import Digest
internal import EventLoop
internal import LoadModel
internal import Model

/// A request of a load test, reused for one request after another. Confined to its loop.
final class LoadRequest {
    /// The owner, which is notified of the end.
    enum Owner {
        /// An arrival of the open model; it has no owner.
        case arrival
        case user
        case viewer(ViewerSlot, ViewerLane)
        /// A viewer's request of its steering manifest.
        case steering(ViewerSlot)

        /// Nil for other owners than viewers.
        var slot: ViewerSlot? {
            switch self {
            case .arrival, .user: nil
            case .viewer(let slot, _), .steering(let slot): slot
            }
        }

        /// True for a viewer's first request.
        var opensConnection: Bool { slot?.isNew ?? false }
        /// Multi handle of a viewer's connections; nil for other owners.
        var multi: Int? { slot?.multi }
        /// True for a viewer that has ended.
        var isOver: Bool { slot?.isOver ?? false }
        var link: ViewerLink? { slot?.link }

        /// True if it needs the body as text.
        var readsBody: Bool {
            switch self {
            case .arrival, .user: false
            case .viewer(let slot, let lane): slot.readsBody(lane)
            case .steering: true
            }
        }
    }

    private unowned let loop: LoadLoop
    private(set) var object = WantedObject(index: 0)
    /// The target instead of the object's URL; nil for that URL.
    private(set) var detour: Detour?
    var owner = Owner.arrival
    /// Times in seconds on the test's clock.
    private(set) var plannedSeconds = 0.0
    private(set) var sentSeconds = 0.0
    /// Index among the requests in flight.
    var slot = -1
    /// The link that its bytes pass; nil without a limit.
    private(set) var link: ViewerLink?
    private let body: CheckedBody?
    /// The received body, if its owner reads it.
    private(set) var text = ReceivedText()
    /// The response so far.
    var response = LoadResponse()

    // State of its transports.

    var curl: CurlExchange?
    var connection: HTTP1Connection?

    init(loop: LoadLoop, checksBodies: Bool) {
        self.loop = loop
        body = checksBodies ? CheckedBody() : nil
    }

    func begin(
        _ object: WantedObject, _ owner: Owner, _ detour: Detour?, plannedSeconds: Double,
        sentSeconds: Double
    ) {
        self.object = object
        self.detour = detour
        self.owner = owner
        self.plannedSeconds = plannedSeconds
        self.sentSeconds = sentSeconds
        response = LoadResponse()
        body?.restart()
        link = owner.link
        text.begin(isKept: owner.readsBody)
    }

    /// The URL that it goes to.
    var url: String { detour?.url ?? loop.object(object).url }

    /// Index of its origin among the routes; nil if libcurl requests it.
    var origin: Int? {
        guard let detour else { return loop.origin(of: object) }
        return detour.origin >= 0 ? Int(detour.origin) : nil
    }

    /// Its viewer's query and headers; less after a redirect.
    var addition: ViewerAddition? {
        guard let addition = owner.slot?.addition else { return nil }
        return detour.flatMap { $0.addition(addition) } ?? addition
    }

    /// True if the status is that of a redirect that a client follows.
    var isRedirect: Bool { Self.isRedirect(response.status) }

    static func isRedirect(_ status: Int) -> Bool {
        [301, 302, 303, 307, 308].contains(status)
    }

    /// Returns the digest of the received body; nil if bodies are not checked.
    func digest() -> SHA256Digest? { body?.finish() }

    /// True if the bytes of the body matter, not only their number.
    var checksBody: Bool { body != nil || text.isKept }

    var nowSeconds: Double { loop.clock.seconds }

    /// Schedules a timer, which is made once.
    func schedule(
        _ timer: inout LoopTimer?, afterSeconds seconds: Double, _ body: @escaping () -> Void
    ) {
        if timer == nil { timer = loop.loop.makeTimer(body) }
        timer?.schedule(afterSeconds: seconds)
    }

    // MARK: From its transport

    /// Returns true if a connection to an address is allowed for it.
    func admits(_ address: PeerAddress) -> Bool {
        response.addressRejection = loop.transports.options.addresses.rejection(
            of: address, for: url)
        return response.addressRejection == nil
    }

    /// Counts that its transport sends it once more.
    func isSentAgain() { loop.record.interval.counts.requests.resent += 1 }

    func beginsAnswer() {
        if response.firstByteSeconds == nil { response.firstByteSeconds = loop.clock.seconds }
    }

    /// Receives a part of the body; false ends the request.
    func receives(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard receives(bytes.count) else { return false }
        body?.update(bytes)
        text.append(bytes)
        return true
    }

    /// Receives bytes of a body that is not checked.
    func receives(_ count: Int) -> Bool {
        guard loop.takes(count) else { return false }
        response.bytes += Int64(count)
        return true
    }

    func ended(_ end: LoadRequestEnd) { loop.ended(self, end) }
}

/// The response to a request, as far as it has arrived.
struct LoadResponse {
    /// Status; 0 before its head has arrived.
    var status = 0
    /// Location of a redirect.
    var location: String?
    /// `Retry-After` of a 429.
    var retryAfterSeconds: Double?
    /// The way a cache served it.
    var cache = CacheFinding.unknown
    /// True if the request opened a new connection.
    var openedConnection = false
    /// Seconds from sending until the connection was established, with its handshakes; 0 if it was
    /// reused.
    var connectSeconds = 0.0
    /// The reason for which the last address was denied.
    var addressRejection: FailureCode?
    /// Arrival of its first byte on the test's clock; nil before that.
    var firstByteSeconds: Double?
    /// Received bytes of the body.
    var bytes: Int64 = 0
}

/// A received body that its owner reads: a manifest of a live title.
struct ReceivedText {
    private(set) var bytes: [UInt8] = []
    fileprivate private(set) var isKept = false
    /// True if the body was longer than a live manifest may be.
    private(set) var isTooLong = false

    /// Maximum size of a manifest that viewers read while a test runs, in bytes.
    private static let maxBytes = 4 << 20
    /// A larger buffer is not kept for the next request.
    private static let maxKeptBytes = 256 << 10

    fileprivate mutating func begin(isKept: Bool) {
        self.isKept = isKept
        isTooLong = false
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.maxKeptBytes)
    }

    fileprivate mutating func append(_ piece: UnsafeRawBufferPointer) {
        guard isKept else { return }
        isTooLong = isTooLong || bytes.count + piece.count > Self.maxBytes
        if !isTooLong { bytes.append(contentsOf: piece) }
    }
}

/// Hashes one body after another.
private final class CheckedBody {
    private var hasher = SHA256Hasher()

    func restart() { _ = hasher.finish() }
    func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bytes) }
    func finish() -> SHA256Digest { hasher.finish() }
}
