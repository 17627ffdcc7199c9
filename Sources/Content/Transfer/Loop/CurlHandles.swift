internal import Curl
internal import Model

/// The libcurl handles of a loop.
struct CurlHandles {
    /// Nil before the first request and after the shutdown.
    private(set) var multi: CurlMulti?
    private var idle: [CurlEasy] = []
    /// Header lines by profile, for requests without their own.
    private var plainHeaders: [ObjectIdentifier: CurlHeaders] = [:]

    /// Returns an idle handle, or a new one.
    mutating func take(bufferBytes: Int) throws(Failure) -> CurlEasy {
        if let easy = idle.popLast() { return easy }
        return try Self.makeEasy(bufferBytes: bufferBytes)
    }

    mutating func giveBack(_ easy: CurlEasy) {
        easy.delegate = nil
        idle.append(easy)
    }

    static func makeEasy(bufferBytes: Int) throws(Failure) -> CurlEasy {
        var settings = CurlEasy.Options(userAgent: "dray/\(drayVersion)")
        settings.bufferBytes = bufferBytes
        return try asFailure { () throws(CurlError) in try CurlEasy(options: settings) }
    }

    /// Returns the multi handle; `make` creates it.
    mutating func multi(_ make: () throws(Failure) -> CurlMulti) throws(Failure) -> CurlMulti {
        if let multi { return multi }
        let made = try make()
        multi = made
        return made
    }

    /// Returns the header lines of a request: its own, and those of its origin that it does not
    /// replace. Plain requests share theirs.
    mutating func headers(
        _ lines: [String], of profile: OriginProfile
    ) throws(Failure) -> CurlHeaders {
        let id = ObjectIdentifier(profile)
        if lines.isEmpty, let known = plainHeaders[id] { return known }
        let own = Set(lines.map { $0.prefix { $0 != ":" }.lowercased() })
        let common = profile.headers.filter { !own.contains($0.name.lowercased()) }.map(\.line)
        let made = try asFailure { () throws(CurlError) in
            try CurlHeaders(["Accept-Encoding: identity"] + common + lines)
        }
        if lines.isEmpty { plainHeaders[id] = made }
        return made
    }
}
