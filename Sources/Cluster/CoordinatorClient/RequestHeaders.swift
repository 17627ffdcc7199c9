import API
import Curl

/// The header lines of a client's requests. Requests of one kind share libcurl's list of them, which
/// is made once.
struct RequestHeaders {
    /// Lines of all requests.
    private let lines: [String]
    private var byFormat: [WireFormat: CurlHeaders] = [:]
    private var ofStreams: CurlHeaders?

    init(_ lines: [String]) { self.lines = lines }

    /// Returns the headers of a request.
    mutating func of(_ request: WireRequest) throws(CurlError) -> CurlHeaders {
        if request.sink != nil { return try stream() }
        let format = request.body?.format ?? .json
        if request.idempotencyKey == nil, let made = byFormat[format] { return made }
        let common = lines + ["Content-Type: \(format.contentType)"]
        if let key = request.idempotencyKey {
            return try CurlHeaders(common + ["Idempotency-Key: \(key)"])
        }
        let made = try CurlHeaders(common)
        byFormat[format] = made
        return made
    }

    /// Returns headers that accept a stream of events, and no other lines of that name.
    private mutating func stream() throws(CurlError) -> CurlHeaders {
        if let ofStreams { return ofStreams }
        let made = try CurlHeaders(
            lines.filter { !$0.hasPrefix("Accept:") } + ["Accept: text/event-stream"])
        ofStreams = made
        return made
    }
}
