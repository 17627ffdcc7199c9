internal import LoadModel
internal import Model
internal import Transfer

/// What a response says of the cache next to the client.
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
    func count(bytes: Int64, into counts: inout LoadCounts) {
        switch self {
        case .unknown: break
        case .hit(let age):
            counts.cacheHits += 1
            counts.cacheHitBytes += bytes
            guard let age else { return }
            counts.cacheAges += 1
            // A header may hold any number; a cache keeps nothing for a century.
            counts.cacheAgeSeconds += Double(min(age, 3_153_600_000))
        case .miss:
            counts.cacheMisses += 1
            counts.cacheMissBytes += bytes
        }
    }
}

/// Reads cache headers from the heads of responses (`CacheHeaders`).
///
/// Most heads have none, which costs a look at the start of each line. Equal lines are read once.
struct CacheHeadReader {
    private static let names = [
        "age", "cache-status", "cf-cache-status", "via", "x-cache", "x-cache-status",
        "x-proxy-cache", "x-varnish",
    ].map { Array($0.utf8) }
    private static let maxKnown = 256

    /// The lines of a head that may speak of a cache.
    private var evidence: [UInt8] = []
    private var known: [[UInt8]: CacheFinding] = [:]

    mutating func finding(in head: UnsafeRawBufferPointer) -> CacheFinding {
        evidence.removeAll(keepingCapacity: true)
        var start = 0
        while start < head.count {
            let end = head[start...].firstIndex(of: UInt8(ascii: "\n")) ?? head.count
            if Self.mayMatter(head, start, end) {
                evidence.append(contentsOf: head[start..<end])
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

    private static func mayMatter(
        _ head: UnsafeRawBufferPointer, _ start: Int, _ end: Int
    ) -> Bool {
        guard start < end, [0x61, 0x63, 0x76, 0x78].contains(head[start] | 0x20) else {
            return false
        }
        return names.contains { name in
            guard end - start > name.count, head[start + name.count] == UInt8(ascii: ":") else {
                return false
            }
            return name.indices.allSatisfy { head[start + $0] | 0x20 == name[$0] | 0x20 }
        }
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
