internal import Curl
internal import LoadModel

/// The transports of a loop, and which of them sends a request. Each is nil if the plan does not need it, before the
/// start and after the end.
struct LoopTransports {
    private(set) var routes: HTTP1Routes
    private(set) var http1: HTTP1Transport?
    private(set) var curl: CurlTransport?
    let capacity: LoopCapacity
    let options: LoadEngine.Options
    private let http: LoadHTTP

    init(
        _ routes: HTTP1Routes, _ http: LoadHTTP, _ options: LoadEngine.Options,
        _ capacity: LoopCapacity
    ) {
        self.routes = routes
        self.http = http
        self.options = options
        self.capacity = capacity
    }

    /// Returns the index of a URL's origin among the routes, which a new origin joins; -1 for
    /// libcurl.
    mutating func origin(ofURL url: String) -> Int32 {
        let known = routes.origins.count
        let origin = routes.add(url)
        if routes.origins.count > known { http1?.add(routes.origins[known]) }
        return origin
    }

    // MARK: Opening

    /// Opens the transports that the plan needs.
    mutating func open(for loop: LoadLoop) throws(CurlError) {
        let hasBoth = routes.leavesSome && !routes.origins.isEmpty
        let connections = hasBoth ? halfOfConnections : capacity.connections
        if !routes.origins.isEmpty { openHTTP1(for: loop, connections: connections) }
        if routes.leavesSome { try openCurl(for: loop, connections: connections) }
    }

    /// Returns the transport of a detour, which may need it for the first time.
    ///
    /// - Parameter origin: index of its origin among the routes; -1 for libcurl.
    mutating func ofDetour(
        toOrigin origin: Int32, for loop: LoadLoop
    ) throws(CurlError) -> (any LoadTransport)? {
        if origin >= 0 {
            if http1 == nil { openHTTP1(for: loop, connections: halfOfConnections) }
            return http1
        }
        if curl == nil {
            http1?.limit(connections: halfOfConnections)
            try openCurl(for: loop, connections: halfOfConnections)
        }
        return curl
    }

    private var halfOfConnections: Int { max(capacity.connections / 2, capacity.requests) }

    private mutating func openHTTP1(for loop: LoadLoop, connections: Int) {
        http1 = HTTP1Transport(
            loop, routes,
            HTTP1Transport.Settings(
                http: http, userAgent: options.userAgent, connections: connections,
                lookup: options.lookup, usesOldestFirst: capacity.opensConnections))
    }

    private mutating func openCurl(for loop: LoadLoop, connections: Int) throws(CurlError) {
        let bufferBytes = min(options.bufferBytes, max(32 << 10, (16 << 20) / capacity.requests))
        curl = try CurlTransport(
            loop,
            CurlTransport.Settings(
                http: http, userAgent: options.userAgent, bufferBytes: bufferBytes,
                connections: connections, multis: capacity.multis,
                opensConnections: capacity.opensConnections, viewers: loop.viewers.count))
    }

    func close() {
        http1?.close()
        curl?.close()
    }

    mutating func removeAll() { (http1, curl) = (nil, nil) }
}
