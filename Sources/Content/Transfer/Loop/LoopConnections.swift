internal import Curl

/// The open connections of a loop.
struct LoopConnections {
    /// The origin of each connection, by its descriptor.
    private var origins: [Int32: OriginState] = [:]
    /// Approximate times of the last receipt, by the local ports of connections that may be shared.
    private var trafficAt: [Int32: Double] = [:]

    mutating func opened(_ socket: Int32, _ origin: OriginState) { origins[socket] = origin }

    /// Removes a connection that libcurl closes; returns its origin.
    mutating func closed(_ socket: Int32) -> OriginState? {
        if !trafficAt.isEmpty, let port = CurlSocket.localPort(socket) { trafficAt[port] = nil }
        return origins.removeValue(forKey: socket)
    }

    /// Removes a connection that this side has closed.
    mutating func remove(_ socket: Int32) { origins[socket] = nil }

    /// Returns an origin's connections by their local ports.
    func byPort(of origin: OriginState) -> [Int32: Int32] {
        var byPort: [Int32: Int32] = [:]
        for (socket, other) in origins where other === origin {
            if let port = CurlSocket.localPort(socket) { byPort[port] = socket }
        }
        return byPort
    }

    mutating func noteTraffic(at port: Int32, now: Double) { trafficAt[port] = now }

    /// Returns true if a connection has received nothing since then.
    func isSilent(_ port: Int32, since: Double) -> Bool { trafficAt[port, default: 0] <= since }
}
