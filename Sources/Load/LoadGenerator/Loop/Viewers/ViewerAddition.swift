internal import Curl

/// The query and headers that one viewer adds to its requests, prepared for both transports.
final class ViewerAddition {
    /// Without the question mark; empty for none.
    let query: String
    /// Lines of HTTP/1.1, each with its end.
    let lines: [UInt8]
    let headers: [String]
    /// These and the headers of all requests, for libcurl; nil before its first request.
    var curl: CurlHeaders?
    /// The addition after a redirect, and after one to another origin.
    private(set) lazy var redirected = ViewerAddition(query: "", headers: headers)
    private(set) lazy var elsewhere = ViewerAddition(
        query: "", headers: headers.filter { !Self.isCredential($0) })

    /// Tells whether a header line carries credentials, by the rule of players and curl.
    private static func isCredential(_ line: String) -> Bool {
        ["authorization:", "cookie:", "proxy-authorization:"].contains {
            line.lowercased().hasPrefix($0)
        }
    }

    init(query: String, headers: [String]) {
        self.query = query
        self.headers = headers
        lines = Array(headers.map { "\($0)\r\n" }.joined().utf8)
    }
}
