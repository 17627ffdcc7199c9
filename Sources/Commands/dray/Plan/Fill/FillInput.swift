import Client
import CommandLine
import ListSources
import Lists
import Model
import Planner
import Rendering
import Text

/// The titles of a fill plan, and what is known of them.
struct FillInput {
    var titles = FillTitles()
    /// By site with logs of its own; of the other sites for an empty name.
    var histories: [String: FillHistory] = [:]
    var seen = SeenSizes()
    var readings = LogReadings()

    /// Counts of what was read.
    struct LogReadings: Encodable {
        var requests = 0
        var skippedLines = 0
        var unreadableLines = 0
        /// Requests of files that belong to no title.
        var otherRequests = 0

        /// Describes logs of which no line is a request of a file.
        func withoutRequests(_ settings: FillSettings) -> Failure {
            let since = settings.since > 0 ? " since --since" : ""
            return Failure(
                .inputEmpty,
                "the logs have no answered GET of a file below "
                    + "\(printable(settings.keys.prefix))\(since): "
                    + "\(HumanFormat.count(skippedLines, "other line")), "
                    + "\(HumanFormat.count(unreadableLines, "line")) of an unknown format",
                hint: since.isEmpty
                    ? FillKeys.advice : "Use an earlier --since, or the logs of that time.")
        }
    }

    static func read(
        _ arguments: Arguments, _ settings: FillSettings
    ) async throws -> FillInput {
        var input = FillInput()
        if !arguments.operands.isEmpty { try await input.readList(arguments) }
        if let path = arguments.text("titles") { try input.readTitles(path) }
        let isOpen = input.titles.titles.isEmpty
        if let count = arguments.integer("count") {
            guard isOpen else {
                throw UsageError(
                    "--count is for a plan without titles",
                    hint: "Omit it: LIST and --titles have the titles.")
            }
            try input.addTitles(count)
        }
        guard !settings.logs.isEmpty || !input.titles.titles.isEmpty else {
            throw UsageError(
                "there are no titles to plan",
                hint: "Give LIST, --titles or --log; or --zipf, --count and --title-size.")
        }
        guard
            !settings.logs.isEmpty || settings.zipf != nil
                || input.titles.titles.contains(where: { $0.weight != nil })
        else {
            throw UsageError(
                "nothing shows which titles are popular",
                hint: "Give --log, --titles with a column weight, or --zipf.")
        }
        if isOpen, !settings.logs.isEmpty { try input.findTitles(settings) }
        for log in settings.logs { try input.readLog(log, settings, isOpen: isOpen) }
        let (requests, other) = (input.readings.requests, input.readings.otherRequests)
        if !settings.logs.isEmpty, requests == 0 { throw input.readings.withoutRequests(settings) }
        guard requests == 0 || other < requests else {
            throw Failure(
                .inputField,
                "none of the \(HumanFormat.count(requests, "request")) in the logs is of a title",
                hint: FillKeys.advice)
        }
        return input
    }

    /// Sizes by title: given ones, those of the logs, or the default; 0 if unknown.
    func sizes(_ settings: FillSettings) -> [Double] {
        titles.titles.enumerated().map { index, title in
            title.bytes ?? seen.titles[index] ?? settings.titleBytes ?? 0
        }
    }

    // MARK: Lists

    private mutating func readList(_ arguments: Arguments) async throws {
        let source = try ListSource(
            arguments.operands[0], format: ListOptions.format(arguments))
        var titles = FillTitles()
        let reading = try await source.read(.check) { assets throws(Failure) in
            for asset in assets {
                try titles.add(FillTitles.Title(asset: asset, bytes: asset.bytes.map(Double.init)))
            }
        }
        ListOptions.report(reading, of: arguments.operands[0])
        self.titles = titles
    }

    private static let columns = [
        NamedTable.Column("URL", names: ["url"], isRequired: true),
        NamedTable.Column(
            "weight", names: ["weight", "requests", "views", "hits", "pageviews", "plays"]),
        NamedTable.Column("size", names: ["bytes", "size"]),
    ]

    private mutating func readTitles(_ path: String) throws(Failure) {
        var table = NamedTable(Self.columns, maxRows: FillTitles.most)
        var titles = self.titles
        func take(_ row: NamedTable.Row) throws(PlannerError) {
            func number(_ column: Int, _ range: ClosedRange<Double>) throws(PlannerError) -> Double?
            {
                guard let text = row.cells[column] else { return nil }
                if let value = Double(text), range.contains(value) { return value }
                throw row.failure(
                    Self.columns[column], text,
                    "use a number from \(Scenario.plain(range.lowerBound)) to "
                        + Scenario.plain(range.upperBound))
            }
            guard let url = row.cells[0] else {
                throw row.failure(Self.columns[0], nil, "use an http or https URL")
            }
            let (bytes, weight) = (try number(2, 1...1e18), try number(1, 0...1e15))
            if let bytes, bytes != bytes.rounded() {
                throw row.failure(
                    Self.columns[2], row.cells[2], "use a whole number of bytes: 1500, not 1.500")
            }
            do throws(Failure) {
                try titles.add(
                    FillTitles.Title(
                        asset: try ListReader.asset(url: url), bytes: bytes, weight: weight))
            } catch {
                throw PlannerError(
                    field: "line \(row.line), column URL", given: "invalid",
                    allowed: error.message)
            }
        }
        let input = ListInput(try ListFile(path), copies: false)
        try named(path) { () throws(Failure) in
            while let piece = try input.next() {
                try inFailure { () throws(PlannerError) in
                    try table.read(piece) { row throws(PlannerError) in try take(row) }
                }
            }
            try inFailure { () throws(PlannerError) in
                try table.finish { row throws(PlannerError) in try take(row) }
            }
        }
        self.titles = titles
    }

    /// Adds titles without a URL, for a plan from numbers alone.
    private mutating func addTitles(_ count: Int) throws(Failure) {
        for index in 1...count {
            let key = "title-\(index)"
            try titles.add(
                FillTitles.Title(
                    asset: AssetSubmission(name: key, url: "", kind: .file, key: key)))
        }
    }

    // MARK: Logs

    /// Finds titles by the manifests that are requested: the folder of a manifest, with those below
    /// it, is a title, and its most requested manifest there is the one to fetch.
    private mutating func findTitles(_ settings: FillSettings) throws(Failure) {
        var manifests: [String: Int] = [:]
        for log in settings.logs {
            guard log.path != "-" else {
                throw Failure(
                    .inputUnreadable,
                    "stdin can be read only once, and a plan without LIST reads logs twice",
                    hint: "Give LIST, or a file.")
            }
            var reader = settings.keys.reader(since: settings.since)
            try Self.read(log.path, &reader) { request throws(Failure) in
                guard ManifestName.kind(of: request.key) != .file else { return }
                guard manifests[request.key] != nil || manifests.count < FillTitles.most else {
                    return
                }
                manifests[request.key, default: 0] += 1
            }
        }
        for title in ManifestName.titles(manifests) {
            try settings.keys.check(titleOfLog: title)
            try titles.add(
                FillTitles.Title(
                    asset: AssetSubmission(
                        name: String(title.prefix(1_000)), url: settings.keys.url(ofKey: title),
                        kind: ManifestName.kind(of: title), key: title)))
        }
    }

    private mutating func readLog(
        _ log: (site: String?, path: String), _ settings: FillSettings, isOpen: Bool
    ) throws(Failure) {
        let site = log.site ?? ""
        var history =
            histories.removeValue(forKey: site)
            ?? FillHistory(sliceSeconds: settings.sliceSeconds)
        var (titles, seen, other) = (self.titles, self.seen, 0)
        self.titles = FillTitles()
        self.seen = SeenSizes()
        var reader = settings.keys.reader(since: settings.since)
        try Self.read(log.path, &reader) { request throws(Failure) in
            var title = titles.index(ofFile: request.key)
            if title == nil, isOpen {
                try settings.keys.check(titleOfLog: request.key)
                title = titles.titles.count
                try titles.add(
                    FillTitles.Title(
                        asset: AssetSubmission(
                            name: String(request.key.prefix(1_000)),
                            url: settings.keys.url(ofKey: request.key), kind: .file,
                            key: request.key)))
            }
            history.add(request, title: title)
            if let title {
                if titles.titles[title].bytes == nil { seen.add(request, title: title) }
            } else {
                other += 1
            }
        }
        histories[site] = history
        (self.titles, self.seen) = (titles, seen)
        readings.requests += reader.requests
        readings.skippedLines += reader.skippedLines
        readings.unreadableLines += reader.unreadableLines
        readings.otherRequests += other
    }

    /// Reads a log, and shows how far it is. Throws `input.malformed` if no line can be read.
    static func read(
        _ path: String, _ reader: inout FileRequestReader,
        _ take: (FileRequest) throws(Failure) -> Void
    ) throws(Failure) {
        let input = ListInput(try ListFile(path), copies: false)
        var reported = reader.requests
        try named(path) { () throws(Failure) in
            while let piece = try input.next() {
                try reader.read(piece) { request throws(Failure) in try take(request) }
                guard reader.requests - reported >= 1_000_000 else { continue }
                reported = reader.requests
                Console.note("\(printable(path)): \(HumanFormat.count(reported)) requests read")
            }
            try reader.endLog { request throws(Failure) in try take(request) }
            guard reader.requests + reader.skippedLines > 0 else {
                throw Failure(
                    .inputMalformed,
                    "no line can be read as an access log",
                    hint: "Use the common or combined format of nginx or Apache, CloudFront's "
                        + "standard logs, or JSON with one object a line.")
            }
        }
    }

    private static func named(
        _ path: String, _ body: () throws(Failure) -> Void
    ) throws(Failure) {
        do throws(Failure) {
            try body()
        } catch {
            throw error.inFile(path)
        }
    }

    private func named(
        _ path: String, _ body: () throws(Failure) -> Void
    ) throws(Failure) { try Self.named(path, body) }

    private func inFailure<Value>(
        _ body: () throws(PlannerError) -> Value
    ) throws(Failure) -> Value {
        do throws(PlannerError) {
            return try body()
        } catch {
            throw Failure(error)
        }
    }
}

/// Names of manifests in logs.
enum ManifestName {
    static func kind(of key: String) -> AssetKind {
        let path = key.lowercased()
        if path.hasSuffix(".m3u8") || path.hasSuffix(".m3u") { return .hls }
        return path.hasSuffix(".mpd") ? .dash : .file
    }

    /// Returns the manifests of titles: of the folders with a manifest that are in no other such
    /// folder, the most requested one.
    static func titles(_ manifests: [String: Int]) -> [String] {
        func folder(_ key: Substring) -> Substring? {
            key.lastIndex(of: "/").map { key[..<$0] }
        }
        let folders = Set(manifests.keys.compactMap { folder($0[...]).map(String.init) })
        var best: [String: (key: String, requests: Int)] = [:]
        for (key, requests) in manifests {
            guard let own = folder(key[...]) else { continue }
            var above = folder(own)
            var isInner = false
            while let found = above, !isInner {
                isInner = folders.contains(String(found))
                above = folder(found)
            }
            guard !isInner else { continue }
            let known = best[String(own)]
            if known.map({ ($0.requests, key) < (requests, $0.key) }) ?? true {
                best[String(own)] = (key, requests)
            }
        }
        return best.values.map(\.key).sorted()
    }
}
