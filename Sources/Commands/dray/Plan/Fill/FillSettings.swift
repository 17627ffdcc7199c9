import CommandLine
import Model
import Planner
import Schedule
import Services
import Text

/// The options of `dray plan fill`.
struct FillSettings {
    struct Site {
        var name: String
        var limits: FillLimits
    }

    static let maxSites = 1_000

    let sites: [Site]
    /// By site; those without a site are of all.
    let logs: [(site: String?, path: String)]
    let sliceSeconds: Double
    /// Nil to choose it.
    let halfLifeSlices: Double?
    let since: Double
    let zipf: Estimate?
    let titleBytes: Double?
    let keys: FillKeys

    init(_ arguments: Arguments) throws {
        let names = try Self.sizes(arguments)
        let known = Set(names.map(\.name))
        sliceSeconds = try Self.seconds("every", arguments, 60...604_800) ?? 86_400
        halfLifeSlices = try Self.seconds("half-life", arguments, 60...31_536_000).map {
            [sliceSeconds] in $0 / sliceSeconds
        }
        since = try TimeOptions.pastTime("since", arguments) ?? 0
        zipf = try arguments.text("zipf").map(Self.exponent)
        titleBytes = try arguments.text("title-size").map { text throws(UsageError) in
            Double(try Self.size(text, "--title-size"))
        }
        keys = try FillKeys(
            prefix: arguments.text("prefix"), origin: arguments.text("origin"))
        logs = Self.logs(arguments.texts("log"), known)
        let order = arguments.choice("order", FillLimits.Order.self) ?? .bytes
        let perFill = try Self.bytesPerFill(arguments, known)
        sites = names.map { name, bytes in
            Site(
                name: name,
                limits: FillLimits(
                    storageBytes: Double(bytes),
                    bytesPerFill: perFill[name] ?? perFill[""] ?? .infinity, order: order))
        }
        if zipf != nil, !logs.isEmpty {
            throw UsageError(
                "--zipf and --log cannot be combined",
                hint: "Logs show the popularity: omit --zipf.")
        }
        if arguments.integer("count") != nil, zipf == nil || titleBytes == nil {
            throw UsageError(
                "--count needs --zipf and --title-size",
                hint: "Use --zipf 0.8 --count 10000 --title-size 2GB.")
        }
        if arguments.integer("count") != nil, arguments.text("out") != nil {
            throw UsageError(
                "--count and --out cannot be combined",
                hint: "Titles of --count have no URL to list: omit --out, or give LIST or --titles."
            )
        }
    }

    /// Splits `SITE=PATH`; a text without the name of a site is of all sites.
    static func logs(
        _ texts: [String], _ sites: Set<String>
    ) -> [(site: String?, path: String)] {
        texts.map { text in
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            return parts.count == 2 && sites.contains(parts[0]) ? (parts[0], parts[1]) : (nil, text)
        }
    }

    private static func sizes(
        _ arguments: Arguments
    ) throws(UsageError) -> [(name: String, bytes: Int64)] {
        var sites: [(name: String, bytes: Int64)] = []
        for text in arguments.texts("site") {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, isName(parts[0]) else {
                throw UsageError(
                    "--site is '\(printable(String(text.prefix(100))))'",
                    hint: "Write SITE=SIZE, such as edge-1=8TB; a name has 1 to 100 letters, "
                        + "digits, dots, dashes or underscores.")
            }
            guard !sites.contains(where: { $0.name == parts[0] }) else {
                throw UsageError(
                    "--site \(parts[0]) is given twice", hint: "Use one size for each site.")
            }
            sites.append((parts[0], try size(parts[1], "--site \(parts[0])")))
        }
        guard (1...maxSites).contains(sites.count) else {
            throw UsageError(
                sites.isEmpty ? "--site is missing" : "\(sites.count) sites are given",
                hint: "Use --site SITE=SIZE, up to \(maxSites) times.")
        }
        return sites
    }

    /// Names become file names.
    static func isName(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count) && text.first != "."
            && text.utf8.allSatisfy {
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 && $0 < 0x80
                    || isDigit($0) || ".-_".utf8.contains($0)
            }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    private static func size(_ text: String, _ option: String) throws(UsageError) -> Int64 {
        guard let bytes = ByteCount.parse(text), (1...1 << 60).contains(bytes) else {
            throw UsageError(
                "\(option) is '\(printable(String(text.prefix(40))))'",
                hint: "Write 500GB, 1.5TiB or a number of bytes.")
        }
        return bytes
    }

    private static func seconds(
        _ name: String, _ arguments: Arguments, _ allowed: ClosedRange<Double>
    ) throws(UsageError) -> Double? {
        guard let text = arguments.text(name) else { return nil }
        guard let seconds = lengthOfTime(text), allowed.contains(seconds) else {
            throw UsageError(
                "--\(name) is '\(printable(String(text.prefix(40))))'",
                hint: "Write 90m, 6h or 2d.")
        }
        return seconds
    }

    private static func exponent(_ text: String) throws(UsageError) -> Estimate {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
        let values = parts.compactMap(\.self)
        guard values.count == parts.count, [1, 3].contains(values.count),
            values.allSatisfy({ (0...5).contains($0) }), values == values.sorted()
        else {
            throw UsageError(
                "--zipf is '\(printable(String(text.prefix(40))))'",
                hint: "Use 0 to 5, such as 0.8, or LOW:LIKELY:HIGH, such as 0.7:0.8:1.")
        }
        return values.count == 1
            ? Estimate(values[0])
            : Estimate(low: values[0], likely: values[1], high: values[2])
    }

    /// Returns the bytes of a window by site; of all others for an empty name.
    private static func bytesPerFill(
        _ arguments: Arguments, _ sites: Set<String>
    ) throws(UsageError) -> [String: Double] {
        let window = try seconds("window", arguments, 60...86_400)
        let texts = arguments.texts("bandwidth")
        guard let window, !texts.isEmpty else {
            guard window == nil, texts.isEmpty else {
                throw UsageError(
                    "\(window == nil ? "--bandwidth needs --window" : "--window needs --bandwidth")",
                    hint: "Use both, or neither: --window 6h --bandwidth 2Gbit/s.")
            }
            return [:]
        }
        var bytes: [String: Double] = [:]
        for (site, text) in logs(texts, sites) {
            let rate: Int64?
            do throws(Failure) { rate = try Bandwidth(text).limit } catch {
                throw UsageError(
                    "--bandwidth: \(printable(error.message))",
                    hint: "Use a rate such as 2Gbit/s, or SITE=RATE for a site of --site.")
            }
            guard let rate, rate > 0 else {
                throw UsageError(
                    "--bandwidth is '\(printable(String(text.prefix(40))))'",
                    hint: "Use a rate such as 2Gbit/s; omit --window and --bandwidth for no limit.")
            }
            bytes[site ?? ""] = Double(rate) * window
        }
        return bytes
    }
}
