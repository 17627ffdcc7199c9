package import Model
import Text

/// The data of a test on a cluster in parts: the rows of its viewers' data, or the requests of a
/// replay.
///
/// Item i is in part i modulo their number, and shard s of n takes the parts p with p mod n = s. So each
/// item is in one shard. 5,040 parts divide evenly among most numbers of workers up to 200; with the others,
/// shards differ by a part.
package struct LoadParts: Sendable, Equatable {
    /// The URLs of a replay, one a line, in blocks that all shards get; nil for rows.
    package let urlBlocks: [String]?
    /// By number; those of a replay may be empty.
    package let texts: [String]

    init(urlBlocks: [String]? = nil, texts: [[UInt8]]) throws(Failure) {
        self.urlBlocks = urlBlocks
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

    /// Returns how many of the first `items` items a shard has, of `count` parts.
    static func items(ofFirst items: Int, parts count: Int, _ shard: LoadShard) -> Int {
        func own(below number: Int) -> Int {
            max(0, (number - shard.index + shard.count - 1) / shard.count)
        }
        return items / count * own(below: count) + own(below: items % count)
    }

    /// Returns the numbers of a shard's parts, of `count`; a shard beyond them shares one.
    package static func numbers(of shard: LoadShard, parts count: Int) -> [Int] {
        Array(stride(from: shard.index % count, to: count, by: shard.count))
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

// MARK: Requests of a replay

extension LoadParts {
    /// Divides a replay: a line for each request, with the microseconds since the one before in its
    /// part and the index of its URL, both to base 36. Times are those of the test.
    ///
    /// Throws `input.tooLarge` for more URLs or requests than a cluster takes, and
    /// `input.unreadable` if the log cannot be read again.
    package init(_ replay: LoadReplay) throws(Failure) {
        let urlBytes = replay.urls.reduce(0) { $0 + $1.utf8.count + 1 }
        guard urlBytes <= WireLimits.loadURLBytes else {
            throw Failure(
                .inputTooLarge,
                "the log's \(replay.urls.count) different URLs have \(urlBytes) bytes; allowed "
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
        try self.init(urlBlocks: Self.blocks(of: replay.urls), texts: parts)
    }

    private static let blockRecords = 4_096

    /// Joins URLs to blocks of lines.
    private static func blocks(of urls: [String]) -> [String] {
        var blocks: [String] = []
        for url in urls {
            let bytes = (blocks.last?.utf8.count ?? 0) + 1 + url.utf8.count
            if blocks.isEmpty || bytes > WireLimits.loadPageBytes {
                blocks.append(url)
            } else {
                blocks[blocks.count - 1] += "\n" + url
            }
        }
        return blocks
    }

    /// Returns the number of parts of a replay: no fewer than shards, so that none has the part of
    /// another one.
    static func count(ofRequests count: Int) -> Int {
        min(max(count, WireLimits.loadWorkers), WireLimits.loadParts)
    }

    private static func text(_ number: Int) -> String { String(number, radix: 36) }

    /// Reads a part of a replay. Throws `cluster.protocol`.
    static func records(
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

    /// Bytes of the shortest request.
    static let requestBytes = 4
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
    /// Returns how many requests of a whole log a worker's shard has before a time of the test.
    ///
    /// Reads some 25 records, whatever the log's length.
    package func requests(of shard: LoadShard, before seconds: Double) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = low + (high - low) / 2
            if let record = read(from: middle, 1).first, record.seconds / speedUp < seconds {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return LoadParts.items(ofFirst: low, parts: LoadParts.count(ofRequests: count), shard)
    }
}
