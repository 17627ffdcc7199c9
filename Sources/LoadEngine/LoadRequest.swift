internal import Curl
internal import Digest
internal import LoadTest
internal import Transfer

/// One request of a load test; used for one after another, with its easy handle. Confined to its loop.
final class LoadRequest: CurlEasyDelegate {
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

    let easy: CurlEasy
    private unowned let loop: LoadLoop
    /// Place in the plan of what its handle is set for; -1 at first.
    var object = -1
    var owner = Owner.arrival
    /// In seconds of the test's clock.
    var plannedSeconds = 0.0
    var sentSeconds = 0.0
    /// When the first byte of the answer came; nil before that.
    private(set) var firstByteSeconds: Double?
    /// Of the body.
    private(set) var bytes: Int64 = 0
    private(set) var isAddressDenied = false
    /// Its place among those under way.
    var place = -1
    /// Which of the loop's multi handles has its connection, where its owner has none.
    let ownMulti: Int
    /// Which of them it was sent by.
    var multi = 0
    private let body: CheckedBody?
    private var opensConnection = false

    init(easy: CurlEasy, loop: LoadLoop, multi: Int, checksBodies: Bool) {
        self.easy = easy
        self.loop = loop
        ownMulti = multi
        body = checksBodies ? CheckedBody() : nil
    }

    func begin(owner: Owner, plannedSeconds: Double, sentSeconds: Double) {
        self.owner = owner
        self.plannedSeconds = plannedSeconds
        self.sentSeconds = sentSeconds
        bytes = 0
        firstByteSeconds = nil
        isAddressDenied = false
        body?.restart()
    }

    func setOpensConnection(_ opens: Bool) throws(CurlError) {
        guard opens != opensConnection else { return }
        try easy.setOpensConnection(opens)
        opensConnection = opens
    }

    /// Of the body that came; nil where none is checked.
    func digest() -> SHA256Digest? { body?.finish() }

    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        guard loop.takes(bytes.count) else { return .abort }
        self.bytes += Int64(bytes.count)
        body?.update(bytes)
        return .proceed
    }

    /// Not libcurl's own time, which begins when libcurl turns to the request, however long after its sending.
    func curlBeginsAnswer(_ easy: CurlEasy) { firstByteSeconds = loop.clock.seconds }

    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool {
        isAddressDenied = !loop.options.addresses.admits(
            address, for: loop.plan.objects[object].url)
        return !isAddressDenied
    }

    func curl(_ easy: CurlEasy, finished code: CurlCode) { loop.ended(self, code) }
}

/// A hash of the bytes of one body after another.
private final class CheckedBody {
    private var hasher = SHA256Hasher()

    func restart() { _ = hasher.finish() }
    func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bytes) }
    func finish() -> SHA256Digest { hasher.finish() }
}
