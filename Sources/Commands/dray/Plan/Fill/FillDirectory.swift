import Client
import FileSystem
import FoundationEssentials
import Glibc
import Model
import Planner
import Rendering
import Services
import Text

/// The directory of a fill plan: plan.json, and for each site a list for `dray prefetch`.
struct FillDirectory {
    private let path: String
    private static let maxPlanBytes = 256 << 20

    /// Throws `input.destination` if it cannot be created.
    init(_ path: String, creates: Bool) throws(Failure) {
        self.path = path.hasSuffix("/") && path.count > 1 ? String(path.dropLast()) : path
        guard creates else { return }
        guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
            throw Failure(
                .inputDestination, "--out \(printable(path)): \(systemErrorText(errno))")
        }
        do throws(OutputFileError) { try OutputFile.check(plan) } catch {
            throw Failure(.inputDestination, "--out \(printable(path)): \(error.reason)")
        }
    }

    var shown: String { printable(path) }
    private var plan: String { "\(path)/plan.json" }

    func list(of site: String) -> String { "\(path)/\(site).ndjson" }

    /// Writes the lists, then the plan.
    func write(_ answer: FillAnswer, _ input: FillInput) throws {
        for (site, titles) in zip(answer.sites, answer.chosen) {
            try write(titles.lazy.map { input.titles.titles[$0].asset }, to: list(of: site.site))
        }
        try WholeFile.write(try PlanText.json(answer), to: plan)
    }

    private func write(
        _ assets: some Sequence<AssetSubmission>, to path: String
    ) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do throws(OutputFileError) {
            let file = try OutputFile(path)
            do throws(OutputFileError) {
                var lines: [UInt8] = []
                for asset in assets {
                    lines += (try? encoder.encode(ListedAsset(asset))) ?? Data()
                    lines.append(UInt8(ascii: "\n"))
                    guard lines.count > 1 << 20 else { continue }
                    try file.write(lines)
                    lines.removeAll(keepingCapacity: true)
                }
                try file.write(lines)
            } catch {
                file.abandon()
                throw error
            }
            try file.keep()
        } catch {
            throw Failure(.inputDestination, "\(printable(path)): \(error.reason)")
        }
    }

    func read() throws(Failure) -> FillAnswer {
        try NamedFile.read(plan, maximumBytes: Self.maxPlanBytes) { bytes throws(Failure) in
            do {
                return try JSONDecoder().decode(FillAnswer.self, from: Data(bytes))
            } catch {
                throw Failure(
                    .inputMalformed,
                    "this is not a plan of `dray plan fill`",
                    hint: "Use the directory that `dray plan fill --out` wrote.")
            }
        }
    }
}

/// An asset as an entry of a list, with all that a list may say of it.
private struct ListedAsset: Encodable {
    private let asset: AssetSubmission

    init(_ asset: AssetSubmission) { self.asset = asset }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private struct Limit: Encodable {
        var count: Int
        var period: String
    }

    private struct Sidecar: Encodable {
        let sidecar: SidecarSubmission

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            func key(_ name: String) -> Key { Key(stringValue: name) }
            try container.encode(sidecar.url, forKey: key("url"))
            try container.encode(sidecar.required, forKey: key("required"))
            try container.encodeIfPresent(sidecar.bytes, forKey: key("bytes"))
            try container.encodeIfPresent(sidecar.sha256, forKey: key("sha256"))
            for (name, digits) in ListedAsset.digests(sidecar.digests) {
                try container.encode(digits, forKey: key(name))
            }
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        func key(_ name: String) -> Key { Key(stringValue: name) }
        try container.encode(asset.url, forKey: key("url"))
        try container.encode(asset.name, forKey: key("name"))
        try container.encode(asset.kind, forKey: key("kind"))
        try container.encodeIfPresent(asset.bytes, forKey: key("bytes"))
        try container.encodeIfPresent(asset.sha256, forKey: key("sha256"))
        for (name, digits) in Self.digests(asset.digests) {
            try container.encode(digits, forKey: key(name))
        }
        try container.encodeIfPresent(asset.mirrors, forKey: key("mirrors"))
        try container.encodeIfPresent(
            asset.sidecars?.map(Sidecar.init), forKey: key("sidecars"))
        try container.encodeIfPresent(asset.notBefore.map(Self.time), forKey: key("notBefore"))
        try container.encodeIfPresent(asset.expiresAt.map(Self.time), forKey: key("expiresAt"))
        try container.encodeIfPresent(asset.keepSeconds.map(Self.period), forKey: key("keepFor"))
        try container.encodeIfPresent(asset.title, forKey: key("title"))
        try container.encodeIfPresent(
            asset.maxFetches.map {
                Limit(count: $0.count, period: Self.period($0.periodSeconds))
            }, forKey: key("maxFetches"))
        try container.encodeIfPresent(asset.maxSites, forKey: key("maxSites"))
    }

    /// Splits `md5=…,sha1=…`.
    private static func digests(_ text: String?) -> [(String, String)] {
        (text ?? "").split(separator: ",").compactMap { member in
            let halves = member.split(separator: "=").map(String.init)
            return halves.count == 2 ? (halves[0], halves[1]) : nil
        }
    }

    private static func time(_ seconds: Double) -> String {
        String(timestamp(ofSeconds: seconds).prefix(19)) + "Z"
    }

    /// Writes a period in the largest unit that divides it.
    private static func period(_ seconds: Double) -> String {
        let seconds = Int(saturating: seconds)
        for (unit, length) in [("d", 86_400), ("h", 3_600), ("m", 60)]
        where seconds.isMultiple(of: length) {
            return "\(seconds / length)\(unit)"
        }
        return "\(seconds)s"
    }
}
