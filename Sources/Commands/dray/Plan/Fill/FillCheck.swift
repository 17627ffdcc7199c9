import Client
import CommandLine
import ListSources
import Lists
import Model
import Planner
import Rendering
import Text

/// `dray plan fill --check`: compares a plan's prediction with access logs.
enum FillCheck {
    static func run(_ arguments: Arguments) async throws -> ExitCode {
        for option in ["log", "titles", "zipf", "site", "out", "count"]
        where !arguments.texts(option).isEmpty {
            throw UsageError(
                "--check and --\(option) cannot be combined",
                hint: "Use --plan DIR --check LOG alone; the plan has the rest.")
        }
        guard let path = arguments.text("plan") else {
            throw UsageError(
                "--check needs --plan", hint: "Set --plan DIR, the directory of --out.")
        }
        let directory = try FillDirectory(path, creates: false)
        let plan = try directory.read()
        let known = Set(plan.sites.map(\.site))
        let (prefix, origin) = (arguments.text("prefix"), arguments.text("origin"))
        // Logs may be of another place than those of the plan.
        let keys = try FillKeys(
            prefix: prefix ?? (origin == nil ? plan.prefix : nil),
            origin: origin ?? (prefix == nil ? plan.origin : nil))
        let since = try TimeOptions.pastTime("since", arguments) ?? 0
        let titles = try await knownTitles(plan, directory, arguments)
        var results: [SiteCheck] = []
        let logs = FillSettings.logs(arguments.texts("check"), known)
        for site in plan.sites {
            let own = logs.filter { $0.site == site.site || $0.site == nil && known.count == 1 }
            guard !own.isEmpty else { continue }
            results.append(
                try await check(
                    site, try await read(site, directory), known: titles, own.map(\.path),
                    keys, since))
        }
        guard !results.isEmpty else {
            throw UsageError(
                "--check does not specify the site of its log",
                hint: "The plan has \(known.count) sites: use --check SITE=LOG.")
        }
        Console.write(
            arguments.flag("json")
                ? try PlanText.json(["sites": results])
                : results.map(\.text).joined(separator: "\n"))
        return .success
    }

    /// Returns the titles of all sites of a plan and of LIST, which name what was missed.
    private static func knownTitles(
        _ plan: FillAnswer, _ directory: FillDirectory, _ arguments: Arguments
    ) async throws -> FillTitles {
        var titles = FillTitles()
        for site in plan.sites {
            for title in try await read(site, directory).titles { try titles.add(title) }
        }
        guard let list = arguments.operands.first else { return titles }
        let source = try ListSource(list, format: ListOptions.format(arguments))
        for title in try await read(source).titles { try titles.add(title) }
        return titles
    }

    /// Reads the list of a site.
    private static func read(
        _ site: FillAnswer.Site, _ directory: FillDirectory
    ) async throws -> FillTitles {
        guard FillSettings.isName(site.site) else {
            throw Failure(
                .inputField,
                "plan.json: the site '\(printable(site.site))' is not the name of a site",
                hint: "Use the plan.json that `dray plan fill --out` wrote, unchanged.")
        }
        return try await read(ListSource(directory.list(of: site.site), format: .ndjson))
    }

    private static func read(_ list: ListSource) async throws -> FillTitles {
        var titles = FillTitles()
        _ = try await list.read(.check) { assets throws(Failure) in
            for asset in assets { try titles.add(FillTitles.Title(asset: asset)) }
        }
        return titles
    }

    private static func check(
        _ site: FillAnswer.Site, _ titles: FillTitles, known: FillTitles, _ logs: [String],
        _ keys: FillKeys, _ since: Double
    ) async throws -> SiteCheck {
        var counts = SiteCheck.Counts(known: known)
        for path in logs {
            var reader = keys.reader(since: since)
            try FillInput.read(path, &reader) { request throws(Failure) in
                counts.add(request, isStored: titles.index(ofFile: request.key) != nil)
            }
            counts.unreadableLines += reader.unreadableLines
        }
        guard counts.all.requests > 0 else {
            throw Failure(
                .inputEmpty, "the logs of \(site.site) have no answered GET of the site's files",
                hint: "Check --prefix (\(printable(keys.prefix))) and --since.")
        }
        let missed = try counts.missed.most()
        guard counts.stored.requests > 0 || titles.titles.isEmpty else {
            let path = missed.first.map { ", most of them of '\($0.title)'" } ?? ""
            let title = titles.titles.first.map { "'\(Redaction.key($0.asset.key))'" } ?? ""
            throw Failure(
                .inputField,
                printable(
                    "no request of \(site.site) is of a title of its plan: the log has "
                        + "\(HumanFormat.count(Int(saturating: counts.all.requests))) others"
                        + "\(path); the first title is \(title)"),
                hint: FillKeys.advice + " Without both, those of the plan are used.")
        }
        return SiteCheck(site, counts, missed)
    }
}

/// The prediction of a site beside its logs.
struct SiteCheck: Encodable {
    struct Counts {
        var all = FillHistory.Count()
        var stored = FillHistory.Count()
        var unreadableLines = 0
        /// Hits and misses that the edge itself logged.
        var cached = (hits: 0, misses: 0)
        var missed: MissedTitles

        init(known: FillTitles) { missed = MissedTitles(known: known) }

        mutating func add(_ request: FileRequest, isStored: Bool) {
            let count = FillHistory.Count(requests: 1, bytes: request.bytes)
            all.add(count)
            switch request.isHit {
            case true: cached.hits += 1
            case false: cached.misses += 1
            case nil: break
            }
            if isStored { stored.add(count) } else { missed.add(request.key, count) }
        }
    }

    struct Figure: Encodable {
        var predicted: FillAnswer.Ratio
        var measured: Double
        /// Predicted less measured, in points of a hundred.
        var errorPoints: Double
        /// Nil if the prediction has no range.
        var isWithinRange: Bool?

        init(_ predicted: FillAnswer.Ratio, _ measured: Double) {
            self.predicted = predicted
            self.measured = measured
            errorPoints = (predicted.likely - measured) * 100
            if let low = predicted.low, let high = predicted.high {
                isWithinRange = low <= measured && measured <= high
            }
        }

        func row(_ title: String) -> [String] {
            let error = HumanFormat.fixed(abs(errorPoints), places: 1)
            return [
                title, predicted.text, "\(HumanFormat.fixed(measured * 100, places: 1)) %",
                "\(error == "0.0" ? "" : errorPoints < 0 ? "−" : "+")\(error) points",
                isWithinRange.map { $0 ? "in the range" : "outside the range" }
                    ?? "predicted without a range",
            ]
        }
    }

    let site: String
    let requests: Double
    let bytes: Double
    let unreadableLines: Int
    let byteHitRatio: Figure
    let hitRatio: Figure
    /// The ratio that the edge logged; nil if its log does not show it.
    let loggedHitRatio: Double?
    let mostMissed: [MissedTitles.Title]

    init(_ plan: FillAnswer.Site, _ counts: Counts, _ missed: [MissedTitles.Title]) {
        site = plan.site
        (requests, bytes) = (counts.all.requests, counts.all.bytes)
        unreadableLines = counts.unreadableLines
        byteHitRatio = Figure(
            plan.byteHitRatio, bytes > 0 ? counts.stored.bytes / bytes : 0)
        hitRatio = Figure(plan.hitRatio, counts.stored.requests / requests)
        let logged = counts.cached.hits + counts.cached.misses
        loggedHitRatio = logged > 0 ? Double(counts.cached.hits) / Double(logged) : nil
        mostMissed = missed
    }

    var text: String {
        var text = "Site \(site): \(HumanFormat.count(Int(saturating: requests))) requests\n"
        text += TextLayout.table(
            headings: ["Hit ratio", "predicted", "by the log", "predicted − log", ""],
            alignments: [.left, .right, .right, .right, .left],
            rows: [byteHitRatio.row("by bytes"), hitRatio.row("by requests")])
        if let loggedHitRatio {
            text +=
                "\nThe edge itself logged \(HumanFormat.fixed(loggedHitRatio * 100, places: 1)) % "
                + "hits by requests.\n"
        }
        if !mostMissed.isEmpty {
            text += "\n"
            text += TextLayout.table(
                headings: ["Most missed", "Requests", "Bytes"],
                alignments: [.left, .right, .right],
                rows: mostMissed.map {
                    [
                        printable($0.title), HumanFormat.count(Int(saturating: $0.requests)),
                        Quantity.bytes($0.bytes),
                    ]
                })
        }
        return text
    }
}
