import Glibc
import Model
import Planner
import Rendering
import Text

/// The answer of `dray plan fill`, as text and as JSON; as plan.json it is what `--check` reads.
struct FillAnswer: Codable {
    struct Ratio: Codable {
        var likely: Double
        /// The range in which nine of ten later fills are expected; nil if it is unknown.
        var low: Double?
        var high: Double?

        init(_ ratio: FillForecast.Ratio) {
            likely = ratio.likely
            low = ratio.range?.lowerBound
            high = ratio.range?.upperBound
        }
    }

    struct Night: Codable {
        var night: Int
        var bytes: Double
        var hitRatio: Double
        var byteHitRatio: Double
    }

    struct Title: Codable {
        var name: String
        var bytes: Double
    }

    struct Site: Codable {
        var site: String
        var storageBytes: Double
        var order: FillLimits.Order
        /// `logs`, `shortLogs` or `weights`.
        var basis: String
        var testedFills: Int?
        var halfLifeSeconds: Double?
        var titles: Int
        var bytes: Double
        var titlesWithoutSize: Int
        var hitRatio: Ratio
        var byteHitRatio: Ratio
        /// Bytes between two fills: wanted by clients, from the origin with the plan, and of these
        /// by the fill.
        var wantedBytes: Double?
        var originBytes: Double?
        var fillBytes: Double?
        /// Wanted bytes that the origin does not send; with `originBytes`, 0 if it sends more.
        var savedBytes: Double?
        var requests: Double?
        var nights: [Night]
        /// The first titles.
        var first: [Title]
    }

    var everySeconds: Double
    /// The prefix that made keys and URLs of the paths of the logs; see `FillKeys`.
    var prefix: String
    var origin: String?
    var sites: [Site]
    var requests: Int
    var skippedLines: Int
    var unreadableLines: Int
    var otherRequests: Int
    /// By site: indexes of titles in order. Not encoded.
    var chosen: [[Int]] = []

    private enum CodingKeys: String, CodingKey {
        case everySeconds, prefix, origin, sites, requests, skippedLines, unreadableLines,
            otherRequests
    }

    init(_ input: FillInput, _ settings: FillSettings) throws {
        everySeconds = settings.sliceSeconds
        (prefix, origin) = (settings.keys.prefix, settings.keys.origin)
        (requests, skippedLines) = (input.readings.requests, input.readings.skippedLines)
        (unreadableLines, otherRequests) =
            (input.readings.unreadableLines, input.readings.otherRequests)
        let sizes = input.sizes(settings)
        guard sizes.contains(where: { $0 > 0 }) else {
            throw Failure(
                .inputField, "no title has a size",
                hint: "Use --titles with a column bytes, or --title-size.")
        }
        sites = []
        for site in settings.sites {
            let plan = try Self.plan(site, input, settings, sizes)
            chosen.append(plan.titles)
            sites.append(Site(plan, input, sizes, settings))
        }
    }

    private static func plan(
        _ site: FillSettings.Site, _ input: FillInput, _ settings: FillSettings, _ sizes: [Double]
    ) throws -> SitePlan {
        guard settings.logs.isEmpty else {
            guard let history = input.histories[site.name] ?? input.histories[""],
                let plan = SitePlan(
                    site: site.name, history, sizes: sizes, site.limits,
                    halfLifeSlices: settings.halfLifeSlices)
            else {
                throw Failure(
                    .inputEmpty, "the site \(site.name) has no request in the logs",
                    hint: "Use --log \(site.name)=FILE, or --log FILE for all sites.")
            }
            return plan
        }
        func zipf(_ exponent: Double) -> [Double] {
            sizes.indices.map { pow(Double($0 + 1), -exponent) }
        }
        let weights = input.titles.titles.map { $0.weight ?? 0 }
        guard let exponent = settings.zipf else {
            return SitePlan(
                site: site.name, weights: weights, low: nil, high: nil, sizes: sizes, site.limits)
        }
        let hasRange = exponent.low < exponent.high
        return SitePlan(
            site: site.name, weights: zipf(exponent.likely),
            low: hasRange ? zipf(exponent.low) : nil, high: hasRange ? zipf(exponent.high) : nil,
            sizes: sizes, site.limits)
    }
}

extension FillAnswer.Site {
    private static let firstTitles = 10

    init(
        _ plan: SitePlan, _ input: FillInput, _ sizes: [Double], _ settings: FillSettings
    ) {
        site = plan.site
        storageBytes = plan.limits.storageBytes
        order = plan.limits.order
        switch plan.basis {
        case .logs(let tested, let halfLife):
            basis = "logs"
            testedFills = tested
            halfLifeSeconds = halfLife * settings.sliceSeconds
        case .shortLogs: basis = "shortLogs"
        case .weights: basis = "weights"
        }
        titles = plan.titles.count
        bytes = plan.bytes
        titlesWithoutSize = plan.titlesWithoutSize
        hitRatio = FillAnswer.Ratio(plan.requestHits)
        byteHitRatio = FillAnswer.Ratio(plan.byteHits)
        let fetched = plan.slice.flatMap { slice in
            slice.fetched.map { slice.wanted.bytes - slice.served.bytes + $0 }
        }
        wantedBytes = plan.slice?.wanted.bytes
        originBytes = fetched
        fillBytes = plan.slice?.fetched
        savedBytes = plan.slice.flatMap { slice in fetched.map { max(0, slice.wanted.bytes - $0) } }
        requests = plan.slice?.wanted.requests
        nights = plan.nights.map {
            FillAnswer.Night(
                night: $0.number, bytes: $0.bytes, hitRatio: $0.requestHits,
                byteHitRatio: $0.byteHits)
        }
        first = plan.titles.prefix(Self.firstTitles).map { title in
            let asset = input.titles.titles[title].asset
            return FillAnswer.Title(
                name: printable(Redaction.name(asset.name, ofURL: asset.url)), bytes: sizes[title])
        }
    }
}

// MARK: Text

extension FillAnswer {
    func text(listsIn directory: FillDirectory?) -> String {
        var text = sites.map { $0.text(every: everySeconds) }.joined(separator: "\n")
        if requests > 0 {
            let share = Double(otherRequests) / Double(requests)
            text +=
                "\nLogs: \(HumanFormat.count(requests)) requests"
                + (otherRequests > 0
                    ? ", \(HumanFormat.fixed(share * 100, places: 1)) % of them of no title" : "")
                + ". Skipped: \(HumanFormat.count(skippedLines)) lines that are not an answered GET, "
                + "\(HumanFormat.count(unreadableLines)) of an unknown format.\n"
        }
        if let directory {
            text += "\nWritten to \(directory.shown):\n"
            for site in sites.map(\.site) {
                text += "  dray prefetch --site \(site) \(directory.shown)/\(site).ndjson\n"
            }
            text += "Sites have the names that `dray site add DEST --name NAME` gives them.\n"
        }
        return text
    }
}

extension FillAnswer.Ratio {
    var text: String {
        func percent(_ share: Double) -> String { HumanFormat.fixed(share * 100, places: 1) }
        guard let low, let high else { return "\(percent(likely)) %" }
        return "\(percent(likely)) % (\(percent(low)) to \(percent(high)))"
    }
}

extension FillAnswer.Site {
    fileprivate func text(every seconds: Double) -> String {
        func size(_ bytes: Double) -> String { Quantity.bytes(bytes) }
        let period = HumanFormat.duration(seconds: seconds)
        var rows = [
            ["Titles", HumanFormat.count(titles), size(bytes) + " of " + size(storageBytes)],
            ["Hit ratio, by bytes", byteHitRatio.text, ""],
            ["Hit ratio, by requests", hitRatio.text, ""],
        ]
        if let wantedBytes, let originBytes, let fillBytes, let savedBytes {
            rows += [
                ["Wanted", size(wantedBytes), "every \(period)"],
                [
                    "From the origin", size(originBytes),
                    "of which the fill fetches \(size(fillBytes))",
                ],
                ["Saved at the origin", size(savedBytes), ""],
            ]
        }
        if let last = nights.last {
            let isWhole = last.bytes >= bytes * 0.999_999
            rows.append(
                [
                    "Windows until it is full",
                    (isWhole ? "" : "more than ") + HumanFormat.count(last.night), "",
                ])
        }
        var text = "Site \(site): titles in order of the \(order.rawValue) wanted for each byte\n"
        text += TextLayout.table(
            headings: ["", "Expected", ""], alignments: [.left, .right, .left], rows: rows)
        text += nightTable + firstTitles
        return text + notes.map { "\n\($0)\n" }.joined()
    }

    /// The windows until the site is full: the first ones, and then some.
    private var nightTable: String {
        guard nights.count > 1 else { return "" }
        let shown = nights.filter {
            $0.night <= 3 || $0.night == nights.count
                || nights.count <= 10 || $0.night.isMultiple(of: (nights.count + 7) / 8)
        }
        return "\n"
            + TextLayout.table(
                headings: ["Window", "Stored", "Hit ratio, bytes", "requests"],
                alignments: [.right, .right, .right, .right],
                rows: shown.map {
                    [
                        HumanFormat.count($0.night),
                        Quantity.bytes($0.bytes),
                        "\(HumanFormat.fixed($0.byteHitRatio * 100, places: 1)) %",
                        "\(HumanFormat.fixed($0.hitRatio * 100, places: 1)) %",
                    ]
                })
    }

    private var firstTitles: String {
        guard !first.isEmpty else { return "" }
        return "\n"
            + TextLayout.table(
                headings: ["First titles", "Size"], alignments: [.left, .right],
                rows: first.map { [$0.name, Quantity.bytes($0.bytes)] })
    }

    private var notes: [String] {
        var notes: [String] = []
        switch basis {
        case "logs":
            let half = HumanFormat.duration(seconds: halfLifeSeconds ?? 0)
            notes.append(
                "Tested: \(HumanFormat.count(testedFills ?? 0, "fill")) from earlier requests, "
                    + "with the requests that followed. A request's weight halves in \(half).")
            if hitRatio.low == nil { notes.append("One test has no range: use longer logs.") }
        case "shortLogs":
            notes.append(
                "The logs are too short for a test: these ratios are of the requests that chose "
                    + "the titles, and predict little. Use logs of several days, or --every 1h.")
        default:
            notes.append(
                "Weights do not show how popularity changes: new titles will lower these ratios.")
        }
        if titles == 0, titlesWithoutSize == 0 {
            notes.append("No wanted title fits into the storage: check --site and the sizes.")
        }
        if titlesWithoutSize > 0 {
            notes.append(
                "\(HumanFormat.count(titlesWithoutSize)) wanted titles have no size and are left "
                    + "out: use --titles with a column bytes, or --title-size.")
        }
        return notes
    }
}
