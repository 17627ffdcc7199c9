internal import Curl

/// The access link of one viewer: bytes of all its requests pass one after another.
final class ViewerLink {
    /// Seconds of bytes that are read at once.
    private static let quantumSeconds = 0.02
    private static let minQuantumBytes = 1_500

    private let bytesPerSecond: Double
    /// Time on the test's clock at which all bytes so far have passed.
    private var freeSeconds = 0.0

    init(bitsPerSecond: Double) { bytesPerSecond = bitsPerSecond / 8 }

    /// Maximum number of bytes of one read.
    var quantumBytes: Int {
        Int(min(max(bytesPerSecond * Self.quantumSeconds, Double(Self.minQuantumBytes)), 1e9))
    }

    func take(_ count: Int, atSeconds now: Double) {
        freeSeconds = max(freeSeconds, now) + Double(count) / bytesPerSecond
    }

    /// Seconds until more bytes may be read; 0 or less for now.
    func waitSeconds(_ now: Double) -> Double { freeSeconds - now }
}

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
