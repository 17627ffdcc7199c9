#if canImport(Glibc)
    import Glibc
#endif

/// Sums up how often, and with how many bytes, each file was requested, from access logs.
///
/// A request counts half for every `halfLifeSeconds` that it is older than the latest one. Memory is
/// bounded: `isFull` asks for `take`.
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

    private let halfLifeSeconds: Double
    private let maxFiles: Int
    private var reader: FileRequestReader
    private var sums: [String: Sum] = [:]
    /// The weight of a request at this time is 1; it is set by the first one after a `take`.
    private var base: Double?
    private var latest = 0.0
    /// Lines that are requests of files, those that are not or came before, and those that cannot be
    /// read.
    package var requests: Int { reader.requests }
    package var skippedLines: Int { reader.skippedLines }
    package var unreadableLines: Int { reader.unreadableLines }

    /// - Parameters:
    ///   - prefix: path at which the web server shows the site, such as `/media/`.
    ///   - since: requests before are skipped.
    ///   - until: a later time is of a clock that is wrong: in its light, all other requests would
    ///     be old.
    package init(
        prefix: String = "/", since: Double = 0, until: Double = .infinity,
        halfLifeSeconds: Double = 604_800,
        maxFiles: Int = 50_000
    ) {
        reader = FileRequestReader(prefix: prefix, since: since, until: until)
        self.halfLifeSeconds = halfLifeSeconds
        self.maxFiles = maxFiles
    }

    /// True if the sums are to be taken before the next chunk.
    package var isFull: Bool { sums.count >= maxFiles }

    package mutating func read(_ piece: [UInt8]) {
        var reader = FileRequestReader()
        swap(&reader, &self.reader)
        reader.read(piece) { take($0) }
        swap(&reader, &self.reader)
    }

    /// Ends a log: another one may follow.
    package mutating func endLog() {
        var reader = FileRequestReader()
        swap(&reader, &self.reader)
        reader.endLog { take($0) }
        swap(&reader, &self.reader)
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

    private mutating func take(_ request: FileRequest) {
        let base = base ?? request.time
        // A time far from the others is of a clock that is wrong.
        let weight = exp2(min(max((request.time - base) / halfLifeSeconds, -500), 500))
        latest = self.base == nil ? request.time : max(latest, request.time)
        self.base = base
        sums[request.key, default: Sum()].requests += weight
        sums[request.key, default: Sum()].bytes += weight * request.bytes
    }
}
