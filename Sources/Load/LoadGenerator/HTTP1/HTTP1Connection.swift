internal import Curl
internal import HTTP1

/// A connection of HTTP/1.1 to an origin, or one that is to be; confined to its loop.
final class HTTP1Connection {
    enum State {
        /// Waits for its origin's addresses. Can move to `connecting` and `closed`.
        case lookingUp
        /// Can move to `sending`, `receiving` and `closed`.
        case connecting
        /// Of its request a part is out. Can move to `receiving` and `closed`.
        case sending
        /// Can move to `idle` and `closed`.
        case receiving
        /// Without a request. Can move to `sending`, `receiving` and `closed`.
        case idle
        case closed
    }

    var state = State.lookingUp
    /// -1 before there is one.
    var socket: Int32 = -1
    /// Its place among the routes' origins.
    let origin: Int
    /// Nil where it is idle.
    unowned(unsafe) var request: LoadRequest?
    /// It carried a request before the one that it has.
    var isReused = false

    // While it connects.

    /// Addresses that were not tried yet, the next one last.
    var addresses: [PeerAddress] = []
    /// On the test's clock: when the address that is being tried is given up, and when all are.
    var attemptEndSeconds = 0.0
    var connectEndSeconds = 0.0

    // Of the request and its answer.

    /// What the socket did not take yet.
    var unsent: [UInt8] = []
    /// Something of the answer has come.
    var hasAnswer = false
    /// Of a head that has not come whole.
    var head: [UInt8] = []
    /// Of all heads of the answer.
    var headBytes = 0
    /// Nil while its head is to come.
    var body: ResponseBody?
    var keepsConnection = false

    // Its place in the lists that it is in.

    var place = -1
    unowned(unsafe) var older: HTTP1Connection?
    unowned(unsafe) var newer: HTTP1Connection?
    var idleSinceSeconds = 0.0

    init(origin: Int) { self.origin = origin }

    func begin(_ request: LoadRequest) {
        self.request = request
        hasAnswer = false
        headBytes = 0
        body = nil
    }
}

/// Idle connections to one origin, in the order in which they became so. They are kept alive by who has them.
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
