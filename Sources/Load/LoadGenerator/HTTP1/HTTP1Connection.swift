internal import Curl
internal import EventLoop
internal import HTTP1

/// An open or pending HTTP/1.1 connection to an origin; confined to its loop.
final class HTTP1Connection {
    enum State {
        /// Waits for its origin's addresses. Can move to `connecting` and `closed`.
        case lookingUp
        /// Can move to `sending`, `receiving` and `closed`.
        case connecting
        /// A part of its request is sent. Can move to `receiving` and `closed`.
        case sending
        /// Can move to `idle` and `closed`.
        case receiving
        /// Has no request. Can move to `sending`, `receiving` and `closed`.
        case idle
        case closed
    }

    var state = State.lookingUp
    /// Descriptor; -1 before it is opened.
    var socket: Int32 = -1
    /// Index among the routes' origins.
    let origin: Int
    /// Nil while it is idle.
    unowned(unsafe) var request: LoadRequest?
    /// True if it carried another request before.
    var isReused = false
    /// True if its first request was sent before, on a connection that was lost.
    var isForRepeat = false

    /// Its attempts to connect.
    var dial = Dial()

    /// Bytes of its request that the socket did not accept yet.
    var unsent: [UInt8] = []
    var answer = Answer()
    /// Ends a pause of reading.
    var linkTimer: LoopTimer?

    // Its positions in lists.

    var index = -1
    unowned(unsafe) var older: HTTP1Connection?
    unowned(unsafe) var newer: HTTP1Connection?
    var idleSinceSeconds = 0.0

    init(origin: Int) { self.origin = origin }

    func begin(_ request: LoadRequest) {
        self.request = request
        answer.begin()
    }
}

extension HTTP1Connection {
    struct Dial {
        /// Addresses not tried yet, the next one last.
        var addresses: [PeerAddress] = []
        /// Timeouts on the test's clock: of the current address, and of all addresses.
        var attemptEndSeconds = 0.0
        var connectEndSeconds = 0.0
    }

    /// The received part of the response.
    struct Answer {
        /// True once a byte of it has arrived.
        var hasBegun = false
        /// Bytes of an incomplete head.
        var head: [UInt8] = []
        /// Bytes of all its heads.
        var headBytes = 0
        /// Nil until its head is complete.
        var body: ResponseBody?
        var keepsConnection = false

        mutating func begin() {
            hasBegun = false
            headBytes = 0
            body = nil
        }
    }
}

/// Idle connections to one origin, in the order in which they became idle. It does not own them.
struct HTTP1IdleList {
    private(set) unowned(unsafe) var oldest: HTTP1Connection?
    private(set) unowned(unsafe) var newest: HTTP1Connection?

    mutating func append(_ connection: HTTP1Connection) {
        connection.older = newest
        connection.newer = nil
        if let newest { newest.newer = connection } else { oldest = connection }
        newest = connection
    }

    mutating func remove(_ connection: HTTP1Connection) {
        if let older = connection.older {
            older.newer = connection.newer
        } else {
            oldest = connection.newer
        }
        if let newer = connection.newer {
            newer.older = connection.older
        } else {
            newest = connection.older
        }
        connection.older = nil
        connection.newer = nil
    }
}
