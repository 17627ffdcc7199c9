internal import Curl
internal import Digest
internal import LoadModel
internal import Model

/// One request of a load test; used for one after another. Confined to its loop.
final class LoadRequest {
    /// Who waits for its end.
    enum Owner {
        /// An arrival of the open model: nobody.
        case arrival
        case user
        case viewer(ViewerSlot)

        /// It is a viewer's first.
        var opensConnection: Bool {
            if case .viewer(let slot) = self { slot.isNew } else { false }
        }

        /// Where a viewer has its connections; nil for any other.
        var multi: Int? {
            if case .viewer(let slot) = self { slot.multi } else { nil }
        }
    }

    private unowned let loop: LoadLoop
    /// Place in the plan.
    private(set) var object = 0
    var owner = Owner.arrival
    /// In seconds of the test's clock.
    private(set) var plannedSeconds = 0.0
    private(set) var sentSeconds = 0.0
    /// When the first byte of the answer came; nil before that.
    private(set) var firstByteSeconds: Double?
    /// Of the body.
    private(set) var bytes: Int64 = 0
    /// Its place among those under way.
    var place = -1
    private let body: CheckedBody?

    // What its transport says of it.

    /// Why the last address that it might have gone to may not be asked.
    private(set) var addressRefusal: FailureCode?
    /// Of its answer; 0 before that.
    var status = 0
    /// It opened a connection of its own.
    var openedConnection = false
    /// From its sending until that was there, with its handshakes; 0 where it was not.
    var connectSeconds = 0.0

    // What its transports keep for it.

    var curl: CurlExchange?
    var connection: HTTP1Connection?

    init(loop: LoadLoop, checksBodies: Bool) {
        self.loop = loop
        body = checksBodies ? CheckedBody() : nil
    }

    func begin(_ object: Int, _ owner: Owner, plannedSeconds: Double, sentSeconds: Double) {
        self.object = object
        self.owner = owner
        self.plannedSeconds = plannedSeconds
        self.sentSeconds = sentSeconds
        bytes = 0
        firstByteSeconds = nil
        addressRefusal = nil
        status = 0
        openedConnection = false
        connectSeconds = 0
        body?.restart()
    }

    /// Of the body that came; nil where none is checked.
    func digest() -> SHA256Digest? { body?.finish() }

    /// The bytes of the body matter, and not their number alone.
    var checksBody: Bool { body != nil }

    // MARK: From its transport

    /// Whether a connection for it may be opened to an address.
    func admits(_ address: PeerAddress) -> Bool {
        addressRefusal = loop.options.addresses.refusal(
            of: address, for: loop.plan.objects[object].url)
        return addressRefusal == nil
    }

    func beginsAnswer() {
        if firstByteSeconds == nil { firstByteSeconds = loop.clock.seconds }
    }

    /// Whether it takes a part of the body: to refuse one ends it.
    func receives(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard receives(bytes.count) else { return false }
        body?.update(bytes)
        return true
    }

    /// The same of one that is not checked.
    func receives(_ count: Int) -> Bool {
        guard loop.takes(count) else { return false }
        bytes += Int64(count)
        return true
    }

    func ended(_ end: LoadRequestEnd) { loop.ended(self, end) }
}

/// A hash of the bytes of one body after another.
private final class CheckedBody {
    private var hasher = SHA256Hasher()

    func restart() { _ = hasher.finish() }
    func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bytes) }
    func finish() -> SHA256Digest { hasher.finish() }
}
