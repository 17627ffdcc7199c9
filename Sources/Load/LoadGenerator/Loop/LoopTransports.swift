/// The transports of a loop, by object. Each is nil if the plan does not need it, before the start
/// and after the end.
struct LoopTransports {
    let routes: HTTP1Routes
    var http1: HTTP1Transport?
    var curl: CurlTransport?

    init(_ routes: HTTP1Routes) { self.routes = routes }

    func close() {
        http1?.close()
        curl?.close()
    }
}
