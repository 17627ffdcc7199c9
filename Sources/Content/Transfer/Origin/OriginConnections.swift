/// A connection to an origin, from the creation of its socket until it no longer counts.
struct OriginSocket {
    /// -1 once libcurl has closed it.
    var descriptor: Int32
    var loop: Int
    /// The transfer for which the connection was opened.
    var transfer: UInt64
    /// Set once this side closed the connection: until then the origin may not have noticed.
    var closingUntil: Double?

    func counts(_ now: Double) -> Bool { closingUntil.map { $0 > now } ?? true }
}

/// The connections to one origin.
struct OriginConnections {
    private(set) var sockets: [OriginSocket] = []
    /// A transfer that was allowed to start got no connection; none tries again before then.
    private(set) var crowdedUntil = 0.0

    /// Time for which a connection closed by this side still counts.
    static let closingSeconds = 0.05

    /// Returns the connections that count, on one loop or on all.
    func count(on loop: Int? = nil, now: Double) -> Int {
        sockets.count { $0.counts(now) && (loop == nil || $0.loop == loop) }
    }

    /// Returns the connections of a loop that are not closing.
    func openCount(on loop: Int) -> Int {
        sockets.count { $0.loop == loop && $0.closingUntil == nil }
    }

    /// Returns the closing connections that still count.
    func closing(now: Double) -> [OriginSocket] {
        sockets.filter { $0.closingUntil.map { $0 > now } ?? false }
    }

    /// Time at which the next closing connection no longer counts; nil for none.
    func nextEnd(now: Double) -> Double? {
        sockets.compactMap(\.closingUntil).filter { $0 > now }.min()
    }

    mutating func add(_ socket: OriginSocket) { sockets.append(socket) }

    /// Records that libcurl closes a socket, which counts for a moment if `counts`. Returns false
    /// for an unknown one.
    mutating func closed(_ descriptor: Int32, counts: Bool, now: Double) -> Bool {
        guard let index = sockets.firstIndex(where: { $0.descriptor == descriptor }) else {
            return false
        }
        sockets[index].descriptor = -1
        if !counts { sockets[index].closingUntil = now }
        if sockets[index].closingUntil == nil {
            sockets[index].closingUntil = now + Self.closingSeconds
        }
        removeClosed(now: now)
        return true
    }

    mutating func removeClosed(now: Double) {
        sockets.removeAll { $0.descriptor < 0 && !$0.counts(now) }
    }

    /// Closes up to `most` idle connections of a loop, and returns their descriptors. A connection
    /// opened for a running transfer is still connecting or in use.
    mutating func closeIdle(
        _ most: Int, on loop: Int, busy: Set<Int32>, transfers: Set<UInt64>, now: Double
    ) -> [Int32] {
        var closing: [Int32] = []
        for index in sockets.indices where closing.count < most {
            let socket = sockets[index]
            guard socket.loop == loop, socket.closingUntil == nil,
                !busy.contains(socket.descriptor), !transfers.contains(socket.transfer)
            else { continue }
            sockets[index].closingUntil = now + Self.closingSeconds
            closing.append(socket.descriptor)
        }
        return closing
    }

    /// Prevents starts for a moment, and returns its end.
    mutating func crowd(now: Double) -> Double {
        crowdedUntil = now + Self.closingSeconds
        return crowdedUntil
    }
}
