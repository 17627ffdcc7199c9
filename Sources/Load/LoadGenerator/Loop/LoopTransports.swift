/// The transports of a loop, by object. Each is nil if the plan does not need it, before the start
/// and after the end.
struct LoopTransports {
    private(set) var routes: HTTP1Routes
    var http1: HTTP1Transport?
    var curl: CurlTransport?

    init(_ routes: HTTP1Routes) { self.routes = routes }

    /// Returns the index of a URL's origin among the routes, which a new origin joins; -1 for
    /// libcurl.
    mutating func origin(ofURL url: String) -> Int32 {
        let known = routes.origins.count
        let origin = routes.add(url)
        if routes.origins.count > known { http1?.add(routes.origins[known]) }
        return origin
    }

    func close() {
        http1?.close()
        curl?.close()
    }
}
