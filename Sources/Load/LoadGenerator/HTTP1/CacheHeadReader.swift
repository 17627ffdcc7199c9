internal import Glibc
internal import LoadModel
internal import Model
internal import Transfer

/// Result of the cache next to the client, as a response states it.
enum CacheFinding: Equatable {
    /// It shows no cache.
    case unknown
    /// Served by the cache, with the seconds of `Age` if it has them.
    case hit(ageSeconds: Int?)
    /// Fetched from behind the cache.
    case miss

    init(_ answer: CacheAnswer) {
        switch answer.state {
        case .unknown: self = .unknown
        case .hit: self = .hit(ageSeconds: answer.ageSeconds)
        case .stored, .miss, .notStored: self = .miss
        }
    }

    /// Adds a response to the counts.
    func count(bytes: Int64, into cache: inout LoadCounts.Cache) {
        switch self {
        case .unknown: break
        case .hit(let age):
            cache.hits += 1
            cache.hitBytes += bytes
            guard let age else { return }
            cache.ages += 1
            // A header may hold any number; a cache keeps nothing for a century.
            cache.ageSeconds += Double(min(age, 3_153_600_000))
        case .miss:
            cache.misses += 1
            cache.missBytes += bytes
        }
    }
}

/// Reads cache headers from the heads of responses (`CacheHeaders`).
///
/// Most heads have none, which costs a look at the start of each line. Equal lines are read once.
struct CacheHeadReader {
    private static let maxKnown = 256

    /// The lines of a head that may speak of a cache.
    private var evidence: [UInt8] = []
    private var known: [[UInt8]: CacheFinding] = [:]

    mutating func finding(in head: UnsafeRawBufferPointer) -> CacheFinding {
        guard let base = head.baseAddress else { return .unknown }
        evidence.removeAll(keepingCapacity: true)
        var start = 0
        while start < head.count {
            let end =
                memchr(base + start, Int32(UInt8(ascii: "\n")), head.count - start).map {
                    UnsafeRawPointer($0) - base
                } ?? head.count
            let line = UnsafeRawBufferPointer(start: base + start, count: end - start)
            if Self.mayMatter(line) {
                evidence.append(contentsOf: line)
                evidence.append(UInt8(ascii: "\n"))
            }
            start = end + 1
        }
        guard !evidence.isEmpty else { return .unknown }
        if let finding = known[evidence] { return finding }
        let finding = Self.read(evidence)
        if known.count >= Self.maxKnown { known.removeAll(keepingCapacity: true) }
        known[evidence] = finding
        return finding
    }

    /// Returns true for a line with the name of a cache header.
    private static func mayMatter(_ line: UnsafeRawBufferPointer) -> Bool {
        switch line.first.map({ $0 | 0x20 }) {
        case UInt8(ascii: "a"): begins(line, "age:")
        case UInt8(ascii: "c"):
            begins(line, "cache-status:") || begins(line, "cf-cache-status:")
        case UInt8(ascii: "v"): begins(line, "via:")
        case UInt8(ascii: "x"):
            begins(line, "x-cache:") || begins(line, "x-cache-status:")
                || begins(line, "x-proxy-cache:") || begins(line, "x-varnish:")
        default: false
        }
    }

    private static func begins(_ line: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
        let length = name.utf8CodeUnitCount
        guard let start = line.baseAddress, line.count >= length else { return false }
        return strncasecmp(start, name.utf8Start, length) == 0
    }

    private static func read(_ evidence: [UInt8]) -> CacheFinding {
        var fields: [(name: String, value: String)] = []
        for line in String(decoding: evidence, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let parts = line.split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            var value = parts[1].drop { $0 == " " || $0 == "\t" }
            while value.last == " " || value.last == "\t" { value.removeLast() }
            fields.append((parts[0].lowercased(), String(value)))
        }
        let read = fields
        return CacheFinding(
            CacheHeaders { name in
                let name = name.lowercased()
                return read.filter { $0.name == name }.map(\.value)
            }.answer)
    }
}
