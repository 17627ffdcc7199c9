internal import Curl
internal import LoadModel

/// The origins of the objects that are requested without libcurl.
///
/// Takes `http://` URLs over HTTP/1.1 that every parser reads alike. libcurl keeps URLs that it
/// would change before sending (dot segments, blanks, fragments, non-ASCII characters), that it has
/// special rules for (userinfo, numeric hosts) and that are very long.
struct HTTP1Routes: Sendable {
    /// A scheme, host and port as written in URLs.
    struct Origin: Sendable {
        /// Without the brackets of an IPv6 address.
        var host: String
        var port: UInt16
        /// The host as in URLs, with a port other than 80.
        var authority: String
        /// Bytes of URLs before their paths.
        var prefixBytes: Int
    }

    private(set) var origins: [Origin] = []
    /// By object, the index of its origin; -1 for libcurl. Empty if libcurl has all.
    private var routeIndexes: [Int32] = []
    private(set) var leavesSome = true
    /// Indexes of origins by the start of their URLs.
    private var known: [String: Int32] = [:]
    /// False if libcurl has all requests.
    private var isUsed = false

    /// Maximum number of origins of redirects and manifests while a test runs.
    private static let maxOrigins = 1_000

    /// Leaves all objects to libcurl.
    init() {}

    init(_ plan: LoadPlan, _ http: LoadHTTP) {
        guard http.version != .http2 else { return }
        isUsed = true
        var known: [Substring: Int32] = [:]
        routeIndexes.reserveCapacity(plan.objects.count)
        leavesSome = false
        for object in plan.objects {
            guard let parsed = Self.origin(of: object.url) else {
                routeIndexes.append(-1)
                leavesSome = true
                continue
            }
            let prefix = object.url.utf8.prefix(parsed.prefixBytes)
            let index = known[Substring(prefix)] ?? Int32(origins.count)
            if index == origins.count {
                known[Substring(prefix)] = index
                origins.append(parsed)
            }
            routeIndexes.append(index)
        }
        for (start, index) in known { self.known[String(start)] = index }
    }

    /// Returns the index of an object's origin; nil if libcurl requests it.
    func origin(ofObject object: Int) -> Int? {
        guard object < routeIndexes.count, routeIndexes[object] >= 0 else { return nil }
        return Int(routeIndexes[object])
    }

    /// Returns the index of a URL's origin among those of the plan; -1 for others.
    func origin(ofURL url: String) -> Int32 {
        guard let parsed = Self.origin(of: url) else { return -1 }
        return known[String(Substring(url.utf8.prefix(parsed.prefixBytes)))] ?? -1
    }

    /// Returns the index of a URL's origin, which is added if it is new; -1 for libcurl.
    mutating func add(_ url: String) -> Int32 {
        guard isUsed, let parsed = Self.origin(of: url) else { return -1 }
        let start = String(Substring(url.utf8.prefix(parsed.prefixBytes)))
        if let index = known[start] { return index }
        guard origins.count < Self.maxOrigins else { return -1 }
        known[start] = Int32(origins.count)
        origins.append(parsed)
        return Int32(origins.count - 1)
    }

    // MARK: URLs

    private static let longestURL = 65_536

    static func origin(of url: String) -> Origin? {
        let bytes = url.utf8
        guard bytes.count <= longestURL, bytes.starts(with: "http://".utf8) else { return nil }
        let rest = bytes.dropFirst(7)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard isPlain(rest.dropFirst(authority.count)) else { return nil }
        let text = String(Substring(authority))
        let host: Substring
        var port: Substring?
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            let after = text[text.index(after: end)...]
            guard after.isEmpty || after.hasPrefix(":") else { return nil }
            port = after.isEmpty ? nil : after.dropFirst()
            guard case .v6? = PeerAddress(String(host)) else { return nil }
        } else {
            host = text.prefix { $0 != ":" }
            port = host.endIndex == text.endIndex ? nil : text[host.endIndex...].dropFirst()
            guard isName(host) else { return nil }
        }
        var number: UInt16 = 80
        if let port {
            guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let given = UInt16(port),
                given > 0
            else { return nil }
            number = given
        }
        let written = text.hasPrefix("[") ? "[\(host)]" : String(host)
        return Origin(
            host: String(host), port: number,
            authority: number == 80 ? written : "\(written):\(number)",
            prefixBytes: 7 + authority.count)
    }

    /// Returns true for a lowercase name or an IPv4 address of four numbers.
    private static func isName(_ host: Substring) -> Bool {
        let bytes = host.utf8
        guard (1...253).contains(bytes.count), bytes.first != UInt8(ascii: "."),
            bytes.allSatisfy({ byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
                    || byte == UInt8(ascii: "_")
            })
        else { return false }
        // Such as `2130706433` and `0x7f.1`.
        let last = host.split(separator: ".").last ?? ""
        let isNumber = last.utf8.first.map { (0x30...0x39).contains($0) } ?? true
        if isNumber { return PeerAddress(String(host)) != nil }
        // libcurl handles these names itself.
        return !host.hasSuffix(".localhost") && !host.hasSuffix(".onion")
    }

    /// Returns true for a path and query that are sent unchanged.
    private static func isPlain(_ bytes: String.UTF8View.SubSequence) -> Bool {
        var before: UInt8 = 0
        var isPath = true
        for byte in bytes {
            guard byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "#") else { return false }
            if byte == UInt8(ascii: "?") { isPath = false }
            if isPath, before == UInt8(ascii: "/"), byte == UInt8(ascii: ".") { return false }
            before = byte
        }
        return true
    }
}
