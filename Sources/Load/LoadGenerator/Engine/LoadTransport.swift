internal import Model

/// What carries a loop's requests to their origins; confined to the loop.
///
/// It tells a request of its answer as it comes, and of its end.
protocol LoadTransport: AnyObject {
    /// Sends a request that has begun; its end never comes before this returns.
    func send(_ request: LoadRequest, opensConnection: Bool) throws(Failure)
    /// Ends a request at once and closes its connection; it hears nothing more.
    func drop(_ request: LoadRequest)
    /// Drops all requests and connections; it is of no use after that.
    func close()
}

/// How a request ended.
enum LoadRequestEnd {
    /// With a whole answer, whatever its status.
    case answered
    case failed(FailureCode)
    /// It did not take what came.
    case cutOff
}
