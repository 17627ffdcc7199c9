internal import Model

/// Sends a loop's requests to their origins; confined to the loop.
///
/// It notifies a request of its response and of its end.
protocol LoadTransport: AnyObject {
    /// Sends a request that has begun; never reports its end before it returns.
    func send(_ request: LoadRequest, opensConnection: Bool) throws(Failure)
    /// Cancels a request at once and closes its connection; the request gets no more callbacks.
    func drop(_ request: LoadRequest)
    /// Drops all requests and connections; it cannot be used after that.
    func close()
}

/// The end of a request.
enum LoadRequestEnd {
    /// A complete response, whatever its status.
    case answered
    case failed(FailureCode)
    /// The request did not accept a part of the body.
    case cutOff
}
