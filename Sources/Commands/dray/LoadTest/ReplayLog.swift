import Client
import CommandLine
import Glibc
import ListSources
import LoadModel
import Model
import Planner
import Rendering
import Text
import WebURL

/// `dray loadtest --replay`: reads an access log into the load of a test.
enum ReplayLog {
    static let options = [
        CommandOption(
            "replay", .file(placeholder: "LOG"),
            help: "Send the answered GET requests of an access log again, with their spacing; "
                + "TARGET is the URL that their paths are appended to. Combined, CloudFront or "
                + "JSON, also with gzip."),
        CommandOption(
            "speed-up", .number(placeholder: "X", range: 0.001...10_000),
            help: "With --replay: X times as fast as the log. Default: 1."),
        CommandOption(
            "match", .text(placeholder: "PATTERN"), repeatable: true,
            help: "With --replay: only requests whose path and query match a pattern with * and ?, "
                + "such as '*.m3u8'. Repeatable."),
    ]

    /// Options of other loads.
    private static let others = [
        "rate", "users", "poisson", "think", "zipf", "viewers", "loop", "search", "scale", "target",
        "list", "kind",
    ]

    /// Replaces the load by that of `--replay`.
    static func setLoad(_ scenario: inout LoadScenario, _ arguments: Arguments) throws {
        guard let path = arguments.text("replay") else {
            for option in ["speed-up", "match"] where !arguments.texts(option).isEmpty {
                throw UsageError("--\(option) needs --replay", hint: "Use both, or neither.")
            }
            return
        }
        for option in others
        where arguments.flag(option) || !arguments.texts(option).isEmpty {
            throw UsageError(
                "--replay and --\(option) cannot be combined",
                hint: "The log has the requests and their times; omit --\(option).")
        }
        guard arguments.operands.count == 1, arguments.operands[0].contains("://") else {
            throw UsageError(
                "--replay needs the URL of a server as TARGET",
                hint: "Write dray loadtest https://edge.example --replay access.log.")
        }
        let url: WebURL
        do throws(WebURLError) { url = try WebURL(arguments.operands[0]) } catch {
            throw error.failure(given: arguments.operands[0])
        }
        guard url.query == nil else {
            throw UsageError(
                "TARGET has a query", hint: "Give the URL that the log's paths are appended to.")
        }
        var base = url.text
        while base.hasSuffix("/") { base.removeLast() }
        let replay = try read(
            path, base: base, speedUp: arguments.number("speed-up") ?? 1,
            patterns: arguments.texts("match"))
        guard LoadLimits.stageSeconds.contains(replay.seconds) else {
            throw LoadTestOptions.rejection(
                "speed-up", "\(Scenario.plain(replay.speedUp))",
                "a value that replays the log's \(HumanFormat.duration(seconds: replay.logSeconds)) "
                    + "within 7 days")
        }
        scenario.setReplay(replay)
        if arguments.flag("may-fail") { scenario.targets[0].mayFail = true }
        if let seconds = try LoadTestOptions.duration(
            "duration", arguments, LoadLimits.capSeconds)
        {
            scenario.caps.durationSeconds = seconds
        }
    }

    // MARK: Reading

    private static func read(
        _ path: String, base: String, speedUp: Double, patterns: [String]
    ) throws(Failure) -> LoadReplay {
        var reader = FileRequestReader(names: .targets)
        var requests = try ReplayRequests(base: base)
        try FillInput.read(path, &reader) { request throws(Failure) in
            guard patterns.isEmpty || patterns.contains(where: { fnmatch($0, request.key, 0) == 0 })
            else { return }
            try requests.add(request)
        }
        let replay = try requests.replay(named: path, speedUp: speedUp)
        guard let replay else {
            throw Failure(
                .inputEmpty,
                "\(path == "-" ? "stdin" : printable(path)): no answered GET request"
                    + (patterns.isEmpty ? " can be read" : " matches --match"),
                hint: patterns.isEmpty
                    ? "Give a log with GET requests that were answered with 200, 206 or 304."
                    : "Give a pattern that matches a whole path with its query, such as "
                        + "'*.m3u8*', or omit --match.")
        }
        if requests.lateRequests > 0 {
            Console.note(
                "\(HumanFormat.count(requests.lateRequests, "request")) of the log came too late to "
                    + "be sorted, and are sent after those before them")
        }
        return replay
    }
}

/// Sorts the requests of a log that is nearly in order, and writes them to a temporary file.
///
/// Requests of one whole second, as logs without fractions have them, are spread evenly over it.
struct ReplayRequests {
    /// Requests that are held to be sorted: some seconds of a busy server.
    static let window = 100_000
    static let maxRequests = 400_000_000
    private static let maxOfSecond = 1_000_000
    private static let recordBytes = 12

    private struct Held: Comparable {
        let seconds: Double
        let number: Int
        let url: UInt32

        static func < (left: Held, right: Held) -> Bool {
            (left.seconds, left.number) < (right.seconds, right.number)
        }
    }

    private let base: String
    private let file: UnnamedFile
    private var urls: [String] = []
    private var indexes: [String: UInt32] = [:]
    private var held = MinHeap<Held>()
    private var added = 0
    /// Those of the second that is being read.
    private var second: [UInt32] = []
    private var secondStart = 0.0
    private var first: Double?
    private var last = 0.0
    /// Time of the latest request that is no longer held.
    private var taken = 0.0
    private var written = 0
    private var buffer: [UInt8] = []
    private(set) var lateRequests = 0

    init(base: String) throws(Failure) {
        self.base = base
        file = try UnnamedFile()
    }

    mutating func add(_ request: FileRequest) throws(Failure) {
        let url: UInt32
        if let index = indexes[request.key] {
            url = index
        } else {
            guard urls.count < LoadPlan.maxObjects else {
                throw Failure(
                    .inputTooLarge,
                    "the log has more than \(LoadPlan.maxObjects) different URLs; replay a part of "
                        + "it with --match.")
            }
            url = UInt32(urls.count)
            indexes[request.key] = url
            urls.append(base + request.key)
        }
        guard added < Self.maxRequests else {
            throw Failure(
                .inputTooLarge,
                "the log has more than \(Self.maxRequests) requests; replay a part of it.")
        }
        added += 1
        var seconds = request.time
        if seconds < taken {
            // Everything before is written.
            lateRequests += 1
            seconds = taken
        }
        held.insert(Held(seconds: seconds, number: added, url: url))
        if held.count > Self.window, let next = held.removeFirst() { try write(next) }
    }

    /// Returns the replay; nil without requests.
    mutating func replay(named name: String, speedUp: Double) throws(Failure) -> LoadReplay? {
        while let next = held.removeFirst() { try write(next) }
        try writeSecond()
        try flush()
        guard written > 0, let first else { return nil }
        let (file, count) = (file, written)
        return LoadReplay(
            name: name, urls: urls, count: count, logSeconds: max(0, last - first),
            speedUp: speedUp
        ) { index, most in
            Self.read(file, index, min(most, count - index))
        }
    }

    private mutating func write(_ request: Held) throws(Failure) {
        taken = request.seconds
        if first == nil { first = request.seconds.rounded(.down) }
        let start = request.seconds.rounded(.down)
        if start != secondStart || second.count >= Self.maxOfSecond {
            try writeSecond()
            secondStart = start
        }
        if request.seconds == start {
            second.append(request.url)
        } else {
            try writeSecond()
            try append(request.seconds, request.url)
        }
    }

    private mutating func writeSecond() throws(Failure) {
        guard !second.isEmpty else { return }
        let urls = second
        second.removeAll(keepingCapacity: true)
        for (index, url) in urls.enumerated() {
            try append(secondStart + Double(index) / Double(urls.count), url)
        }
    }

    private mutating func append(_ seconds: Double, _ url: UInt32) throws(Failure) {
        // Spread requests may be later than a fraction that follows.
        let seconds = max(seconds, last)
        last = seconds
        withUnsafeBytes(of: (seconds - (first ?? seconds)).bitPattern.littleEndian) {
            buffer.append(contentsOf: $0)
        }
        withUnsafeBytes(of: url.littleEndian) { buffer.append(contentsOf: $0) }
        written += 1
        if buffer.count > 1 << 20 { try flush() }
    }

    private mutating func flush() throws(Failure) {
        let bytes = buffer
        buffer.removeAll(keepingCapacity: true)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(Failure) in try file.append(bytes) }
        }
        _ = try result.get()
    }

    private static func read(
        _ file: UnnamedFile, _ index: Int, _ count: Int
    ) -> [LoadReplay.Record] {
        var bytes = [UInt8](repeating: 0, count: count * recordBytes)
        let read = bytes.withUnsafeMutableBytes { bytes in
            (try? file.read(bytes, at: index * recordBytes)) ?? 0
        }
        return bytes.withUnsafeBytes { bytes in
            (0..<(read / recordBytes)).map { index in
                let start = index * recordBytes
                let seconds = bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)
                let url = bytes.loadUnaligned(fromByteOffset: start + 8, as: UInt32.self)
                return LoadReplay.Record(
                    seconds: Double(bitPattern: UInt64(littleEndian: seconds)),
                    url: UInt32(littleEndian: url))
            }
        }
    }
}
