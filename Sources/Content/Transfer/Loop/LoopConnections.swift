internal import Curl

/// The open connections of a loop.
struct LoopConnections {
    /// The lane of each connection, by its descriptor.
    private var lanes: [Int32: OriginState] = [:]
    /// Approximate times of the last receipt, by the local ports of connections that may be shared.
    private var trafficAt: [Int32: Double] = [:]

    mutating func opened(_ socket: Int32, _ lane: OriginState) { lanes[socket] = lane }

    /// Removes a connection that libcurl closes; returns its lane.
    mutating func closed(_ socket: Int32) -> OriginState? {
        if !trafficAt.isEmpty, let port = CurlSocket.localPort(socket) { trafficAt[port] = nil }
        return lanes.removeValue(forKey: socket)
    }

    /// Removes a connection that this side has closed.
    mutating func remove(_ socket: Int32) { lanes[socket] = nil }

    /// Returns a lane's connections by their local ports.
    func byPort(of lane: OriginState) -> [Int32: Int32] {
        var byPort: [Int32: Int32] = [:]
        for (socket, other) in lanes where other === lane {
            if let port = CurlSocket.localPort(socket) { byPort[port] = socket }
        }
        return byPort
    }

    mutating func noteTraffic(at port: Int32, now: Double) { trafficAt[port] = now }

    /// Returns true if a connection has received nothing since then.
    func isSilent(_ port: Int32, since: Double) -> Bool { trafficAt[port, default: 0] <= since }
}
