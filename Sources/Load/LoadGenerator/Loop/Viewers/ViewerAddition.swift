internal import Curl

/// What one viewer adds to its requests, prepared for both transports.
final class ViewerAddition {
    /// Without the question mark; empty for none.
    let query: String
    /// Lines of HTTP/1.1, each with its end.
    let lines: [UInt8]
    let headers: [String]
    /// These and the headers of all requests, for libcurl; nil before its first request.
    var curl: CurlHeaders?
    /// What it adds after a redirect, and after one to another origin.
    private(set) lazy var redirected = ViewerAddition(query: "", headers: headers)
    private(set) lazy var elsewhere = ViewerAddition(
        query: "", headers: headers.filter { !Self.isCredential($0) })

    /// As players and curl do.
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
