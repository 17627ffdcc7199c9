internal import Catalog
internal import Curl
package import LoadTest
package import Model
package import Transfer

/// Finds what a test's targets come to, and refuses what may not be asked for, before any load is sent.
///
/// Lists are read, the manifests of titles fetched, many at once, the hosts of all objects looked up, and a
/// connection tried to those that no manifest came from. Fails with `input.target`, which names the target.
package struct LoadPreflight: Sendable {
    /// Reads a list's assets.
    package typealias ListReading =
        @Sendable (_ path: String) async throws(Failure) -> [AssetSubmission]

    /// What is known when a test may begin.
    package struct Outcome: Sendable {
        package var plan: LoadPlan
        /// Private addresses only where a target has one.
        package var addressPolicy: AddressPolicy
        /// Hosts with addresses of the public Internet, by name, each with the first of them.
        package var publicHosts: [(host: String, address: String)]
    }

    /// Titles whose manifests are fetched at a time.
    package static let titlesAtOnce = 32
    private static let lookupsAtOnce = 16
    static let group = "loadtest"

    let scenario: LoadScenario
    let addressPolicy: AddressPolicy
    let lookup: any HostLookup
    let readList: ListReading
    let nowSeconds: Double
    private let reader: TitleReader

    /// - Parameters:
    ///   - scenario: what `check` has passed.
    ///   - engine: for manifests; its policy should be `addressPolicy`.
    ///   - nowSeconds: since 1970.
    package init(
        _ scenario: LoadScenario, engine: TransferEngine, addressPolicy: AddressPolicy,
        lookup: any HostLookup = SystemHostLookup(), nowSeconds: Double,
        readList: @escaping ListReading
    ) {
        self.scenario = scenario
        self.addressPolicy = addressPolicy
        self.lookup = lookup
        self.readList = readList
        self.nowSeconds = nowSeconds
        reader = TitleReader(
            engine: engine, group: Self.group, headers: scenario.http.headers.map(\.line))
    }

    /// One file or title.
    struct Entry: Sendable {
        /// For messages: `targets[2]`, and the asset of a list.
        var label: String
        var name: String
        var url: String
        var kind: AssetKind
        var weight: Double
        var sha256: String?
    }

    package func run() async throws(Failure) -> Outcome {
        let entries = try await entries()
        var builder = LoadPlanBuilder(playsTitles: playsTitles)
        let allowance = LoadAllowance(
            hosts: Set(entries.compactMap { LoadAllowance.host(of: $0.url) }),
            entries: scenario.allow)
        // Of the targets first: nothing is fetched from a place that may not be asked.
        var hosts = LoadHosts(addressPolicy, allowance)
        for entry in entries { hosts.add(entry.url, entry.label) }
        try await hosts.lookUp(with: lookup, atOnce: Self.lookupsAtOnce)
        try await connect(entries, hosts)
        try await add(entries, to: &builder)
        let plan = builder.plan
        for object in plan.objects { hosts.add(object.url, entries[Int(object.target)].label) }
        try await hosts.lookUp(with: lookup, atOnce: Self.lookupsAtOnce)
        try hosts.checkAllowed()
        if scenario.bodies == .checked, !plan.objects.contains(where: { $0.sha256 != nil }) {
            throw Failure(
                "input.field",
                "field bodies: given \"check\", allowed where a target or its list has a sha256")
        }
        var policy = addressPolicy
        policy.allowsPrivate = addressPolicy.allowsPrivate && hosts.hasPrivate
        return Outcome(plan: plan, addressPolicy: policy, publicHosts: hosts.publicHosts)
    }

    private var playsTitles: Bool {
        if case .viewers = scenario.user { true } else { false }
    }

    // MARK: Targets

    /// All targets, those of lists one by one.
    private func entries() async throws(Failure) -> [Entry] {
        var entries: [Entry] = []
        for (place, target) in scenario.targets.enumerated() {
            let label = "targets[\(place)]"
            switch target.source {
            case .url(let url, let kind):
                entries.append(
                    Entry(
                        label: "\(label) (\(Redaction.shown(url)))", name: target.name, url: url,
                        kind: kind, weight: target.weight, sha256: target.sha256))
            case .list(let path):
                let assets = try await readList(path)
                for asset in assets {
                    entries.append(
                        Entry(
                            label:
                                "\(label) (\(Redaction.shown(path)): \(Redaction.shown(asset.name)))",
                            name: asset.name, url: asset.url, kind: asset.kind,
                            weight: target.weight / Double(assets.count), sha256: asset.sha256))
                }
            }
            guard entries.count <= LoadPlan.mostObjects else {
                throw Failure(
                    "input.target", "\(label): more than \(LoadPlan.mostObjects) files and titles")
            }
        }
        if playsTitles, let file = entries.first(where: { $0.kind == .file }) {
            throw Failure(
                "input.target", "\(file.label) is a file: viewers play titles, hls or dash")
        }
        return entries
    }

    /// Adds all targets in their order, reading the manifests of many titles at once.
    private func add(
        _ entries: [Entry], to builder: inout LoadPlanBuilder
    ) async throws(Failure) {
        let titles = entries.indices.filter { entries[$0].kind != .file }
        var tracks: [Int: [TitleTrack]] = [:]
        var read = 0
        var next = 0
        while next < entries.count {
            // As many as are read at once are held at once.
            if entries[next].kind != .file, tracks[next] == nil {
                let some = titles[read..<min(read + Self.titlesAtOnce, titles.count)]
                read += some.count
                tracks = try await self.tracks(of: some.map { ($0, entries[$0]) })
            }
            let entry = entries[next]
            do throws(Failure) {
                if entry.kind == .file {
                    try builder.add(
                        file: entry.url, name: entry.name, weight: entry.weight,
                        sha256: entry.sha256)
                } else {
                    try builder.add(
                        manifest: entry.url, tracks: tracks[next] ?? [], name: entry.name,
                        weight: entry.weight)
                    tracks[next] = []
                }
            } catch {
                throw Self.refusal(entry, error)
            }
            next += 1
        }
    }

    private func tracks(
        of entries: [(Int, Entry)]
    ) async throws(Failure) -> [Int: [TitleTrack]] {
        let reader = reader
        let now = nowSeconds
        let results = await withTaskGroup(of: (Int, Result<[TitleTrack], Failure>).self) { group in
            for (place, entry) in entries {
                group.addTask { (place, await Self.tracks(of: entry, reader, nowSeconds: now)) }
            }
            return await group.reduce(into: [Int: Result<[TitleTrack], Failure>]()) {
                $0[$1.0] = $1.1
            }
        }
        var tracks: [Int: [TitleTrack]] = [:]
        // The first in order, and not in time, is told of: a message does not change from run to run.
        for (place, _) in entries { tracks[place] = try results[place]?.get() }
        return tracks
    }

    private static func tracks(
        of entry: Entry, _ reader: TitleReader, nowSeconds now: Double
    ) async -> Result<[TitleTrack], Failure> {
        do throws(Failure) {
            let listing = try await reader.read(entry.url, entry.kind, nowSeconds: now)
            return .success(try bounded(listing.tracks()))
        } catch {
            return .failure(refusal(entry, error))
        }
    }

    /// Passes no more than a plan can have.
    private static func bounded(_ tracks: [TitleTrack]) throws(Failure) -> [TitleTrack] {
        guard tracks.reduce(0, { $0 + $1.segments.count }) <= LoadPlan.mostObjects else {
            throw Failure("input.target", "it has more than \(LoadPlan.mostObjects) segments")
        }
        return tracks
    }

    static func refusal(_ entry: Entry, _ failure: Failure) -> Failure {
        switch failure.code {
        case "worker.cancelled": failure
        case "input.target": Failure("input.target", "\(entry.label): \(failure.message)")
        default: Failure("input.target", "\(entry.label): \(failure.code): \(failure.message)")
        }
    }

    // MARK: Connections

    /// Tries each origin that files come from: no manifest will tell whether it is there.
    private func connect(_ entries: [Entry], _ hosts: LoadHosts) async throws(Failure) {
        var origins: [String: Entry] = [:]
        for entry in entries where entry.kind == .file {
            guard let origin = originName(of: entry.url), origins[origin] == nil else { continue }
            origins[origin] = entry
        }
        let waiting = origins.sorted { $0.key < $1.key }
        for start in stride(from: 0, to: waiting.count, by: Self.lookupsAtOnce) {
            let some = waiting[start..<min(start + Self.lookupsAtOnce, waiting.count)]
            let failures = await withTaskGroup(of: Failure?.self) { group in
                for (origin, entry) in some {
                    group.addTask { await tryConnection(origin, entry, hosts) }
                }
                return await group.reduce(into: [Failure]()) { if let one = $1 { $0.append(one) } }
            }
            if let failure = failures.min(by: { $0.message < $1.message }) { throw failure }
        }
    }

    private func tryConnection(
        _ origin: String, _ entry: Entry, _ hosts: LoadHosts
    ) async -> Failure? {
        guard let host = LoadAllowance.host(of: entry.url) else { return nil }
        var problem: Failure?
        for address in hosts.addresses(of: host) {
            let result = await lookup.connect(
                to: address, port: Self.port(of: origin),
                timeoutSeconds: scenario.http.connectTimeoutSeconds)
            switch result {
            case .success: return nil
            case .failure(let failure): problem = failure
            }
        }
        return problem.map { Self.refusal(entry, $0) }
    }

    private static func port(of origin: String) -> Int {
        let tail = origin.split(separator: ":").last.flatMap { Int($0) }
        return tail ?? (origin.hasPrefix("https:") ? 443 : 80)
    }
}
