import Model

#if canImport(Glibc)
    import Glibc
#endif

/// Reads an access log in chunks, and sums up how often, and with how many bytes, each file was
/// requested.
///
/// It reads what `AccessLog` reads, and JSON with one object a line. A request counts half for every
/// `halfLifeSeconds` that it is older than the latest one. Other lines are counted and skipped.
/// Memory is bounded: `isFull` asks for `take`.
package struct RequestedFiles: Sendable {
    /// Requests of one file.
    package struct File: Hashable, Sendable {
        /// Relative to the site.
        package var key: String
        package var requests: Double
        package var bytes: Double
    }

    private struct Sum {
        var requests = 0.0
        var bytes = 0.0
    }

    private let prefix: [UInt8]
    private let since: Double
    /// A later time is of a clock that is wrong: in its light, all other requests would be old.
    private let until: Double
    private let halfLifeSeconds: Double
    private let maxFiles: Int
    private var lines = LogLines()
    private var fields: CloudFrontFields?
    private var sums: [String: Sum] = [:]
    /// The weight of a request at this time is 1; it is set by the first one after a `take`.
    private var base: Double?
    private var latest = 0.0
    /// Lines that are requests of files, those that are not or came before, and those that cannot be
    /// read.
    package private(set) var requests = 0
    package private(set) var skippedLines = 0
    package private(set) var unreadableLines = 0

    /// - Parameters:
    ///   - prefix: path at which the web server shows the site, such as `/media/`.
    ///   - since: requests before are skipped.
    package init(
        prefix: String = "/", since: Double = 0, until: Double = .infinity,
        halfLifeSeconds: Double = 604_800,
        maxFiles: Int = 50_000
    ) {
        var path = Array(prefix.utf8)
        if path.first != UInt8(ascii: "/") { path.insert(UInt8(ascii: "/"), at: 0) }
        if path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
        self.prefix = path
        self.since = since
        self.until = until
        self.halfLifeSeconds = halfLifeSeconds
        self.maxFiles = maxFiles
    }

    /// True if the sums are to be taken before the next chunk.
    package var isFull: Bool { sums.count >= maxFiles }

    package mutating func read(_ piece: [UInt8]) {
        var lines = LogLines()
        swap(&lines, &self.lines)
        lines.read(piece) { take($0) }
        swap(&lines, &self.lines)
    }

    /// Ends a log: another one may follow.
    package mutating func endLog() {
        var lines = LogLines()
        swap(&lines, &self.lines)
        lines.finish { take($0) }
        fields = nil
    }

    /// Returns the sums since the last call, as of `time`; nil without any.
    package mutating func take() -> (time: Double, files: [File])? {
        guard let base, !sums.isEmpty else { return nil }
        let weight = exp2((base - latest) / halfLifeSeconds)
        let files = sums.map {
            File(key: $0.key, requests: $0.value.requests * weight, bytes: $0.value.bytes * weight)
        }
        let time = latest
        sums.removeAll(keepingCapacity: true)
        self.base = nil
        return (time, files.sorted { $0.key < $1.key })
    }

    private mutating func take(_ line: ArraySlice<UInt8>?) {
        guard let line else { return unreadableLines += 1 }
        if line.first == UInt8(ascii: "#") {
            if let found = CloudFrontFields(line) { fields = found }
            return
        }
        let file =
            line.first == UInt8(ascii: "{")
            ? LoggedFile(json: line)
            : fields.map { $0.file(line) } ?? LoggedFile(combined: line)
        guard let file, WireLimits.pointsInTime.contains(file.time), file.time <= until
        else {
            return unreadableLines += 1
        }
        guard file.isServed, file.time >= since, let key = key(of: file.target) else {
            return skippedLines += 1
        }
        requests += 1
        let base = base ?? file.time
        // A time far from the others is of a clock that is wrong.
        let weight = exp2(min(max((file.time - base) / halfLifeSeconds, -500), 500))
        latest = self.base == nil ? file.time : max(latest, file.time)
        self.base = base
        sums[key, default: Sum()].requests += weight
        sums[key, default: Sum()].bytes += weight * file.bytes
    }

    /// Returns the key of a requested path; nil if it is none of the site.
    private func key(of target: ArraySlice<UInt8>) -> String? {
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
