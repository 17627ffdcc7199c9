package import Model
import Text

/// The data of a test on a cluster in parts: the rows of its viewers' data, or the requests of a
/// replay.
///
/// Item i is in part i modulo their number, and shard s of n takes the parts p with p mod n = s. So each
/// item is in one shard. 5,040 parts divide evenly among most numbers of workers up to 200; with the others,
/// shards differ by a part.
package struct LoadParts: Sendable, Equatable {
    /// The URLs of a replay, one a line, which all shards get; nil for rows.
    package let urls: String?
    /// By number; those of a replay may be empty.
    package let texts: [String]

    init(urls: String? = nil, texts: [[UInt8]]) throws(Failure) {
        self.urls = urls
        self.texts = texts.map { String(decoding: $0, as: UTF8.self) }
        let longest = texts.map(\.count).max() ?? 0
        guard longest <= WireLimits.loadPartBytes else {
            throw Failure(
                .inputTooLarge,
                "every \(texts.count)th row together have \(longest) bytes; allowed on a cluster: "
                    + "\(WireLimits.loadPartBytes)",
                hint: "Order the rows so that long ones are not at equal distances.")
        }
    }

    /// Returns the shard that has an item, of `count` parts and so many shards.
    static func shard(ofItem index: Int, parts count: Int, shards: Int) -> Int {
        index % count % shards
    }

    /// Returns the items of some parts in their original order.
    ///
    /// - Parameter parts: by number, each in order.
    static func merged<Item>(_ parts: [[Item]]) -> [Item] {
        var items: [Item] = []
        items.reserveCapacity(parts.reduce(0) { $0 + $1.count })
        for index in 0..<(parts.map(\.count).max() ?? 0) {
            for part in parts where index < part.count { items.append(part[index]) }
        }
        return items
    }
}

// MARK: Rows of viewers

extension LoadParts {
    /// Divides a file of viewers' data; each part is a file with the line of the columns.
    ///
    /// There are as many parts as rows, up to the limit. Throws as `ViewerData` does for a file that
    /// cannot be read.
    package init(viewerData text: [UInt8]) throws(Failure) {
        let rows = try ViewerData(text).rows.count
        let lines = ViewerData.lines(of: text)
        let count = min(rows, WireLimits.loadParts)
        var parts = Array(repeating: Array(lines[0].bytes), count: count)
        for (row, line) in lines.dropFirst().enumerated() {
            parts[row % count].append(ASCII.lineFeed)
            parts[row % count] += line.bytes
        }
        try self.init(texts: parts)
    }
}

extension ViewerData {
    /// Reads the parts of a shard, by number.
    ///
    /// - Parameter shards: number of shards among which the file was divided.
    ///
    /// Throws as for a file; values are not repeated.
    package init(parts: [String], ofShards shards: Int) throws(Failure) {
        var rows: [[Row]] = []
        for part in parts { rows.append(try ViewerData(Array(part.utf8)).rows) }
        self.init(rows: LoadParts.merged(rows), shards: shards)
    }
}

// MARK: Requests of a replay

extension LoadParts {
    /// Divides a replay: a line for each request, with the microseconds since the one before in its
    /// part and the index of its URL, both to base 36. Times are those of the test.
    ///
    /// Throws `input.tooLarge` for more URLs or requests than a cluster takes, and
    /// `input.unreadable` if the log cannot be read again.
    package init(_ replay: LoadReplay) throws(Failure) {
        let urls = replay.urls.joined(separator: "\n")
        guard urls.utf8.count <= WireLimits.loadURLBytes else {
            throw Failure(
                .inputTooLarge,
                "the log's \(replay.urls.count) different URLs have \(urls.utf8.count) bytes; allowed "
                    + "on a cluster: \(WireLimits.loadURLBytes)",
                hint: "Replay a part of the log with --match, or without --cluster.")
        }
        let count = Self.count(ofRequests: replay.count)
        var parts = [[UInt8]](repeating: [], count: count)
        var last = [Int](repeating: 0, count: count)
        var bytes = 0
        var index = 0
        while index < replay.count {
            let block = replay.read(from: index, Self.blockRecords)
            guard !block.isEmpty else {
                throw Failure(.inputUnreadable, "the log's requests cannot be read again")
            }
            for record in block {
                let number = index % count
                let time = Int((record.seconds / replay.speedUp * 1e6).rounded())
                let line = "\(Self.text(time - last[number])) \(Self.text(Int(record.url)))\n"
                last[number] = time
                parts[number] += line.utf8
                bytes += line.utf8.count
                index += 1
            }
            guard bytes <= WireLimits.loadDataBytes else {
                throw Failure(
                    .inputTooLarge,
                    "the log's first \(index) of \(replay.count) requests have more than the "
                        + "\(WireLimits.loadDataBytes) bytes that are allowed on a cluster",
                    hint: "Replay some \(index) requests of the log at a time, or omit --cluster.")
            }
        }
        try self.init(urls: urls, texts: parts)
    }

    private static let blockRecords = 4_096

    /// Returns the number of parts of a replay: no fewer than shards, so that none has the part of
    /// another one.
    static func count(ofRequests count: Int) -> Int {
        min(max(count, WireLimits.loadWorkers), WireLimits.loadParts)
    }

    private static func text(_ number: Int) -> String { String(number, radix: 36) }

    /// Reads a part of a replay. Throws `cluster.protocol`.
    fileprivate static func records(
        _ text: String, urls: Int
    ) throws(Failure) -> [LoadReplay.Record] {
        var records: [LoadReplay.Record] = []
        var microseconds = 0
        var numbers = (0, 0)
        var digits = (0, 0)
        for byte in text.utf8 {
            switch byte {
            case ASCII.space where digits.0 == 0 && digits.1 > 0:
                (numbers, digits) = ((numbers.1, 0), (digits.1, 0))
            case ASCII.lineFeed where digits.0 > 0 && digits.1 > 0:
                microseconds += numbers.0
                guard microseconds <= maxMicroseconds, numbers.1 < urls else { throw unreadable }
                records.append(
                    LoadReplay.Record(
                        seconds: Double(microseconds) / 1e6, url: UInt32(numbers.1)))
                (numbers, digits) = ((0, 0), (0, 0))
            default:
                guard let digit = value(of: byte), digits.1 < maxDigits else { throw unreadable }
                numbers.1 = numbers.1 * 36 + digit
                digits.1 += 1
            }
        }
        guard digits == (0, 0) else { throw unreadable }
        return records
    }

    private static let unreadable = Failure(
        .clusterProtocol, "a request of a replay cannot be read")
    private static let maxMicroseconds = Int(LoadLimits.stageSeconds.upperBound * 1e6)
    /// So that no number exceeds 64 bits.
    private static let maxDigits = 11

    private static func value(of byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte - UInt8(ascii: "a")) + 10
        default: nil
        }
    }
}

extension LoadReplay {
    /// Reads the parts of a shard. Its times are those of the test.
    fileprivate convenience init(
        name: String, urls: [String], parts: [String], ofShards shards: Int
    ) throws(Failure) {
        var all: [[Record]] = []
        for part in parts { all.append(try LoadParts.records(part, urls: urls.count)) }
        let records = LoadParts.merged(all)
        self.init(
            name: name, urls: urls, count: records.count,
            logSeconds: records.last?.seconds ?? 0, speedUp: 1, shards: shards
        ) { index, most in
            Array(records[index..<min(index + most, records.count)])
        }
    }
}

extension LoadScenario {
    /// Makes a worker's shard of a replay the load of a scenario that was written for workers.
    ///
    /// - Parameters:
    ///   - urls: those of the whole replay, one a line.
    ///   - parts: those of the shard, by number.
    ///   - shards: number of shards among which the replay was divided.
    ///
    /// Throws `cluster.protocol` for what no client sends.
    package mutating func setReplay(
        urls: String, parts: [String], ofShards shards: Int
    ) throws(Failure) {
        let urls = urls.utf8.split(separator: ASCII.lineFeed)
        guard targets.count == 1, user == .requests, (1...LoadPlan.maxObjects).contains(urls.count),
            urls.allSatisfy({ $0.allSatisfy { (0x21...0x7E).contains($0) } })
        else { throw Failure(.clusterProtocol, "the URLs of a replay cannot be read") }
        let replay = try LoadReplay(
            name: targets[0].name, urls: urls.map { String(Substring($0)) }, parts: parts,
            ofShards: shards)
        targets[0].source = .replay(replay)
    }
}
