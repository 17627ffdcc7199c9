internal import Curl
package import LoadModel
package import Model
internal import Synchronization
internal import Titles
package import Transfer

/// Finds what a test's targets come to, and refuses what may not be asked for, before any load is sent.
///
/// Lists are read, the hosts of all objects looked up, the manifests of titles fetched, many at once, and some
/// objects asked for (`+Ask`). Nothing goes to a host that neither a target names nor `allow` admits, or follows a
/// redirect. Fails with `input.target`, which names the target, and `input.field`.
package struct LoadPreflight: Sendable {
    /// Reads a list's assets.
    package typealias ListReading =
        @Sendable (_ path: String) async throws(Failure) -> [AssetSubmission]

    /// What is known when a test may begin.
    package struct Outcome: Sendable {
        package var plan: LoadPlan
        /// Of the hosts that are asked, what they were found to have.
        package var addresses: LoadAddresses
        /// Hosts with addresses of the public Internet, by name, each with the first of them.
        package var publicHosts: [(host: String, address: String)]
    }

    /// How what a preflight asks and finds out gets there.
    package struct Means: Sendable {
        /// For manifests: made with `transferOptions`.
        package var engine: TransferEngine
        package var lookup: any HostLookup = SystemHostLookup()
        package var probe: any LoadProbe = CurlLoadProbe()
        package var readList: ListReading

        package init(engine: TransferEngine, readList: @escaping ListReading) {
            self.engine = engine
            self.readList = readList
        }
    }

    /// Titles whose manifests are fetched at a time, at most.
    package static let titlesAtOnce = 32
    /// How many are before it is known how long they are.
    static let titlesAtFirst = 4
    /// Segments that those fetched at a time may list together.
    static let segmentsAtOnce = 8 * LoadPlan.mostObjects
    /// How a failure ends whose host has no address that may be asked.
    package static let deniedWords =
        "may not be connected to (--allow-addresses, --deny-addresses)"
    /// How the failure of a host goes on whose address the denied blocks hold by itself.
    package static let blockedWords = "is in --deny-addresses as"
    static let group = "loadtest"

    let scenario: LoadScenario
    let addressPolicy: AddressPolicy
    let means: Means
    let nowSeconds: Double

    /// - Parameters:
    ///   - scenario: what `check` has passed.
    ///   - nowSeconds: since 1970.
    package init(
        _ scenario: LoadScenario, _ means: Means, addressPolicy: AddressPolicy, nowSeconds: Double
    ) {
        self.scenario = scenario
        self.means = means
        self.addressPolicy = addressPolicy
        self.nowSeconds = nowSeconds
    }

    /// Of the engine that fetches the manifests of a scenario as its load will.
    package static func transferOptions(
        _ http: LoadHTTP, _ addressPolicy: AddressPolicy
    ) -> TransferEngine.Options {
        var options = TransferEngine.Options()
        options.loops = 1
        options.caFile = http.caFile
        options.addressPolicy = addressPolicy
        switch http.version {
        case .automatic: break
        case .http1: options.origins.standard.http = .http1
        case .http2: options.origins.standard.http = .http2PriorKnowledge
        }
        return options
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
        var mayFail = false
        /// Of a list's assets the first, or a target by itself.
        var isFirst = true
    }

    package func run() async throws(Failure) -> Outcome {
        let entries = try await entries()
        var builder = LoadPlanBuilder(playsTitles: playsTitles)
        let allowance = LoadAllowance(
            hosts: Set(entries.compactMap { LoadAllowance.host(of: $0.url) }),
            entries: scenario.allow)
        let hosts = try LoadHosts(
            addressPolicy, allowance, means.lookup, privateHosts: scenario.privateHosts)
        try await hosts.admit(entries.lazy.map { ($0.url, $0.label) })
        try checkVersion(of: entries.lazy.map { ($0.url, $0.label) })
        try await add(entries, to: &builder, hosts)
        let plan = builder.plan
        let origins = Self.origins(of: plan)
        let urls = origins.map { origin in
            let object = plan.objects[origin.object]
            return (url: object.url, label: entries[Int(object.target)].label)
        }
        try await hosts.admit(urls)
        try checkVersion(of: urls)
        if scenario.bodies == .checked, !plan.objects.contains(where: { $0.sha256 != nil }) {
            throw Failure(
                "input.field",
                "field bodies: given \"check\", allowed where a target or its list has a sha256")
        }
        let addresses = hosts.addresses
        try await ask(entries, plan, origins, addresses)
        return Outcome(plan: plan, addresses: addresses, publicHosts: hosts.publicHosts)
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
                        kind: kind, weight: target.weight, sha256: target.sha256,
                        mayFail: target.mayFail))
            case .list(let path):
                let assets = try await means.readList(path)
                for (number, asset) in assets.enumerated() {
                    entries.append(
                        Entry(
                            label:
                                "\(label) (\(Redaction.shown(path)): \(Redaction.shown(asset.name)))",
                            name: Redaction.name(asset.name, ofURL: asset.url), url: asset.url,
                            kind: asset.kind,
                            weight: target.weight / Double(assets.count), sha256: asset.sha256,
                            mayFail: target.mayFail, isFirst: number == 0))
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
        _ entries: [Entry], to builder: inout LoadPlanBuilder, _ hosts: LoadHosts
    ) async throws(Failure) {
        let reader = reader(hosts)
        let titles = entries.indices.filter { entries[$0].kind != .file }
        var tracks: [Int: [TitleTrack]] = [:]
        var read = 0
        var next = 0
        var atOnce = Self.titlesAtFirst
        while next < entries.count {
            // As many as are read at once are held at once.
            if entries[next].kind != .file, tracks[next] == nil {
                let some = titles[read..<min(read + atOnce, titles.count)]
                read += some.count
                tracks = try await self.tracks(of: some.map { ($0, entries[$0]) }, reader)
                let longest = tracks.values.map(Self.segments(of:)).max() ?? 0
                let mayBe = min(2 * atOnce, LoadPlan.mostObjects / max(longest, 1))
                atOnce = max(1, min(mayBe, Self.titlesAtOnce))
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
                throw Self.refusal(entry.label, error)
            }
            next += 1
        }
    }

    private func tracks(
        of entries: [(Int, Entry)], _ reader: TitleReader
    ) async throws(Failure) -> [Int: [TitleTrack]] {
        let now = nowSeconds
        let listed = ListedSegments()
        let results = await withTaskGroup(of: (Int, Result<[TitleTrack], Failure>).self) { group in
            for (place, entry) in entries {
                group.addTask {
                    (place, await Self.tracks(of: entry, reader, nowSeconds: now, listed))
                }
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
        of entry: Entry, _ reader: TitleReader, nowSeconds now: Double,
        _ listed: ListedSegments
    ) async -> Result<[TitleTrack], Failure> {
        do throws(Failure) {
            let listing = try await reader.read(entry.url, entry.kind, nowSeconds: now)
            let tracks = try bounded(listing.tracks())
            let count = segments(of: tracks)
            guard listed.add(count) <= segmentsAtOnce else {
                throw Failure(
                    "input.target",
                    "it and the titles next to it list more than \(segmentsAtOnce) segments")
            }
            return .success(tracks)
        } catch {
            return .failure(refusal(entry.label, error))
        }
    }

    /// Passes no more than a plan can have.
    private static func bounded(_ tracks: [TitleTrack]) throws(Failure) -> [TitleTrack] {
        guard segments(of: tracks) <= LoadPlan.mostObjects else {
            throw Failure("input.target", "it has more than \(LoadPlan.mostObjects) segments")
        }
        return tracks
    }

    private static func segments(of tracks: [TitleTrack]) -> Int {
        tracks.reduce(0) { $0 + $1.segments.count }
    }

    static func refusal(_ label: String, _ failure: Failure) -> Failure {
        switch failure.code {
        case "worker.cancelled": failure
        case "input.target": Failure("input.target", "\(label): \(failure.message)")
        case "origin.redirected", "origin.addressNotOfTarget":
            Failure(
                "input.target",
                "\(label): \(failure.code): \(failure.message). \(failure.code.row.hint)")
        default: Failure("input.target", "\(label): \(failure.code): \(failure.message)")
        }
    }

    /// Fetches manifests: of hosts that are admitted, from the addresses that these were found to have.
    private func reader(_ hosts: LoadHosts) -> TitleReader {
        TitleReader(
            engine: means.engine, group: Self.group, headers: scenario.http.headers.map(\.line)
        ) { request in
            if let failure = await hosts.refusal(of: request.url) { return .failure(failure) }
            var request = request
            request.followsRedirects = false
            if let rule = hosts.rule(of: request.url) {
                request.admitsAddress = { rule.admits($0) }
            }
            return .success(request)
        }
    }
}

/// What the titles that are read at a time have come to. From any thread.
private final class ListedSegments: Sendable {
    private let count = Atomic(0)

    /// The sum, with these.
    func add(_ segments: Int) -> Int { count.add(segments, ordering: .relaxed).newValue }
}
