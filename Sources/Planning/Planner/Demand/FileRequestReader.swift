import Model

/// A request of a file of a site, from an access log.
package struct FileRequest: Sendable {
    /// Relative to the site.
    package var key: String
    /// Seconds since 1970.
    package var time: Double
    /// Bytes that were sent.
    package var bytes: Double
    /// True if a cache answered; nil if the log does not show it.
    package var isHit: Bool?

    package init(key: String, time: Double, bytes: Double, isHit: Bool? = nil) {
        self.key = key
        self.time = time
        self.bytes = bytes
        self.isHit = isHit
    }
}

/// Reads the answered GET requests of a site's files from access logs, in chunks.
///
/// It reads what `AccessLog` reads, and JSON with one object a line. Other lines are counted and
/// skipped.
package struct FileRequestReader: Sendable {
    /// Names that requests are counted by.
    package enum Names: Sendable {
        /// The decoded path below `prefix`, after `keyPrefix`.
        case keys
        /// The path and query as they were requested.
        case targets
    }

    private let prefix: [UInt8]
    private let names: Names
    private let keyPrefix: String
    private let times: Range<Double>
    private var lines = LogLines()
    private var fields: CloudFrontFields?
    /// Lines that are requests of files, those that are not or are of another time, and those that
    /// cannot be read.
    package private(set) var requests = 0
    package private(set) var skippedLines = 0
    package private(set) var unreadableLines = 0
    /// A later time is of a clock that is wrong.
    private let until: Double

    /// - Parameters:
    ///   - prefix: path at which the web server shows the site, such as `/media/`.
    ///   - keyPrefix: what precedes the rest of the path in keys.
    ///   - since: requests before are skipped.
    ///   - until: requests after are unreadable.
    package init(
        prefix: String = "/", keyPrefix: String = "", since: Double = 0,
        until: Double = .infinity, names: Names = .keys
    ) {
        self.names = names
        var path = Array(prefix.utf8)
        if path.first != UInt8(ascii: "/") { path.insert(UInt8(ascii: "/"), at: 0) }
        if path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
        self.prefix = path
        self.keyPrefix = keyPrefix
        times = since..<(.infinity)
        self.until = until
    }

    private static let targetBytes = 8_000

    /// Adds the next chunk of a log, and calls `take` for each request.
    package mutating func read<Problem: Error>(
        _ piece: [UInt8], _ take: (FileRequest) throws(Problem) -> Void
    ) throws(Problem) {
        var lines = LogLines()
        swap(&lines, &self.lines)
        defer { swap(&lines, &self.lines) }
        try lines.read(piece) { line throws(Problem) in
            if let request = request(line) { try take(request) }
        }
    }

    /// Ends a log: another one may follow.
    package mutating func endLog<Problem: Error>(
        _ take: (FileRequest) throws(Problem) -> Void
    ) throws(Problem) {
        var lines = LogLines()
        swap(&lines, &self.lines)
        try lines.finish { line throws(Problem) in
            if let request = request(line) { try take(request) }
        }
        fields = nil
    }

    private mutating func request(_ line: ArraySlice<UInt8>?) -> FileRequest? {
        guard let line else {
            unreadableLines += 1
            return nil
        }
        if line.first == UInt8(ascii: "#") {
            if let found = CloudFrontFields(line) { fields = found }
            return nil
        }
        let file =
            line.first == UInt8(ascii: "{")
            ? LoggedFile(json: line)
            : fields.map { $0.file(line) } ?? LoggedFile(combined: line)
        guard let file, WireLimits.pointsInTime.contains(file.time), file.time <= until
        else {
            unreadableLines += 1
            return nil
        }
        guard file.isServed, times.contains(file.time), let key = key(of: file.target) else {
            skippedLines += 1
            return nil
        }
        requests += 1
        return FileRequest(
            key: keyPrefix + key, time: file.time, bytes: file.bytes, isHit: file.isHit)
    }

    /// Returns the key of a requested path; nil if it is none of the site.
    private func key(of target: ArraySlice<UInt8>) -> String? {
        guard names == .keys else {
            guard target.first == UInt8(ascii: "/"), target.count <= Self.targetBytes,
                target.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
            else { return nil }
            return String(decoding: target, as: UTF8.self)
        }
        let path = target.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard path.starts(with: prefix) else { return nil }
        let key = Self.decoded(path.dropFirst(prefix.count))
        guard (1...WireLimits.keyBytes).contains(key.count), !key.contains(0) else { return nil }
        return String(validating: key, as: UTF8.self)
    }

    private static func decoded(_ path: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(path.count)
        var index = path.startIndex
        while index < path.endIndex {
            if path[index] == UInt8(ascii: "%"), index + 2 < path.endIndex,
                let high = hexDigit(path[index + 1]), let low = hexDigit(path[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(path[index])
                index += 1
            }
        }
        return bytes
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
