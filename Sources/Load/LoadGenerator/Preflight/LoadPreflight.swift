internal import Curl
internal import EventLoop
package import LoadModel
package import Model
internal import Synchronization
internal import Titles
package import Transfer

/// Resolves a test's targets and rejects requests that are not allowed, before any load is sent.
///
/// It reads lists, looks up the hosts of all objects, fetches the manifests of titles concurrently
/// and requests some objects (`+Ask`). It connects only to hosts of targets and of `allow`, also
/// where it follows redirects. Throws `input.target`, which names the target, and `input.field`.
package struct LoadPreflight: Sendable {
    /// Reads a list's assets.
    package typealias ListReading =
        @Sendable (_ path: String) async throws(Failure) -> [AssetSubmission]

    /// Results of a preflight.
    package struct Outcome: Sendable {
        package var plan: LoadPlan
        /// Addresses found for the hosts.
        package var addresses: LoadAddresses
        /// Hosts with addresses of the public Internet, by name, each with the first.
        package var publicHosts: [(host: String, address: String)]
    }

    /// The services that a preflight uses.
    package struct Means: Sendable {
        /// Fetches manifests; created with `transferOptions`.
        package var engine: TransferEngine
        package var lookup: any HostLookup = SystemHostLookup()
        package var probe: any LoadProbe = CurlLoadProbe()
        package var readList: ListReading
        /// Reads the file of the viewers' data, whole.
        package var readData: @Sendable (_ path: String) throws(Failure) -> [UInt8] = {
            (_) throws(Failure) in
            throw Failure(.inputField, "a worker reads no files")
        }

        package init(engine: TransferEngine, readList: @escaping ListReading) {
            self.engine = engine
            self.readList = readList
        }
    }

    /// Maximum number of titles whose manifests are fetched concurrently.
    package static let titlesAtOnce = 32
    /// Initial number, before the size of titles is known.
    static let titlesAtFirst = 4
    /// Maximum number of segments that concurrently fetched titles may list together.
    static let segmentsAtOnce = 8 * LoadPlan.maxObjects
    static let group = "loadtest"

    let scenario: LoadScenario
    let addressPolicy: AddressPolicy
    let means: Means
    let nowSeconds: Double
    /// Seconds since `nowSeconds`.
    private let clock = LoadClock(startNanoseconds: MonotonicClock.nowNanoseconds)

    /// Creates a preflight.
    ///
    /// - Parameters:
    ///   - scenario: a scenario that has passed `check`.
    ///   - nowSeconds: since 1970.
    package init(
        _ scenario: LoadScenario, _ means: Means, addressPolicy: AddressPolicy, nowSeconds: Double
    ) {
        self.scenario = scenario
        self.means = means
        self.addressPolicy = addressPolicy
        self.nowSeconds = nowSeconds
    }

    /// Returns the options of an engine that fetches a scenario's manifests as its load will.
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

    /// Runs the preflight.
    ///
    /// - Parameter prefix: returns the start of the message about an address that an option
    ///   rejects.
    package func run(
        refusedBy prefix: (AddressOption) -> String = { _ in "" }
    ) async throws(Failure) -> Outcome {
        do throws(Failure) {
            return try await outcome()
        } catch {
            guard let option = AddressOption(rejection: error.code) else { throw error }
            throw Failure(.inputTarget, prefix(option) + error.message)
        }
    }

    private func outcome() async throws(Failure) -> Outcome {
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
        var plan = builder.plan
        if case .viewers(let settings) = scenario.user, let path = settings.data {
            do throws(Failure) {
                plan.viewerData = try ViewerData(try means.readData(path))
            } catch {
                throw ViewerData.rejection(path, error)
            }
        }
        let origins = Self.origins(of: plan)
        let urls = origins.map { origin in
            let object = plan.objects[origin.object]
            return (url: object.url, label: entries[Int(object.target)].label)
        }
        try await hosts.admit(urls)
        try await hosts.admit(Self.locations(of: plan, entries))
        try checkVersion(of: urls)
        if scenario.bodies == .checked, !plan.objects.contains(where: { $0.sha256 != nil }) {
            throw Failure(
                .inputField, at: .field("bodies"),
                "given \"check\"",
                allowed: "where a target or its list has a sha256")
        }
        try await ask(entries, plan, origins, hosts)
        // A redirect or a steering server may lead to these while the test runs.
        if scenario.maxRedirects > 0 || playsTitles { await hosts.find(scenario.allow) }
        return Outcome(plan: plan, addresses: hosts.addresses, publicHosts: hosts.publicHosts)
    }

    /// URLs at service locations and Locations, which the plan's objects do not name.
    private static func locations(
        of plan: LoadPlan, _ entries: [Entry]
    ) -> [(url: String, label: String)] {
        zip(plan.targets, entries).flatMap { target, entry in
            ((target.steering?.bases ?? []) + (target.live?.reloadHosts ?? []))
                .map { (url: $0, label: entry.label) }
        }
    }

    var playsTitles: Bool {
        if case .viewers = scenario.user { true } else { false }
    }

    // MARK: Titles

    /// Adds all targets in order, reading the manifests of several titles concurrently.
    private func add(
        _ entries: [Entry], to builder: inout LoadPlanBuilder, _ hosts: LoadHosts
    ) async throws(Failure) {
        let reader = reader(hosts)
        let titles = entries.indices.filter { entries[$0].kind != .file }
        var tracks: [Int: ReadTitle] = [:]
        var read = 0
        var next = 0
        var atOnce = Self.titlesAtFirst
        while next < entries.count {
            // The titles of one batch are in memory together.
            if entries[next].kind != .file, tracks[next] == nil {
                let some = titles[read..<min(read + atOnce, titles.count)]
                read += some.count
                tracks = try await self.tracks(of: some.map { ($0, entries[$0]) }, reader)
                let longest = tracks.values.map { Self.segments(of: $0.tracks) }.max() ?? 0
                let mayBe = min(2 * atOnce, LoadPlan.maxObjects / max(longest, 1))
                atOnce = max(1, min(mayBe, Self.titlesAtOnce))
            }
            let entry = entries[next]
            do throws(Failure) {
                if entry.kind == .file {
                    try builder.add(
                        file: entry.url, name: entry.name, weight: entry.weight,
                        sha256: entry.sha256)
                } else if let title = tracks[next] {
                    if let form = title.live {
                        try builder.add(
                            live: LiveTitleProperties(
                                form: form, clocks: await hosts.admitted(title.clocks),
                                answerOffsetSeconds: title.answerOffsetSeconds,
                                reloads: title.reloads, variables: title.variables),
                            manifest: entry.url, tracks: title.tracks, name: entry.name,
                            weight: entry.weight, steering: title.steering)
                    } else {
                        try builder.add(
                            manifest: entry.url, tracks: title.tracks, name: entry.name,
                            weight: entry.weight, steering: title.steering)
                    }
                    if let url = title.redirected { builder.redirected(to: url) }
                    tracks[next]?.tracks = []
                }
            } catch {
                throw Self.rejection(entry.label, error)
            }
            next += 1
        }
    }

    private func tracks(
        of entries: [(Int, Entry)], _ reader: TitleReader
    ) async throws(Failure) -> [Int: ReadTitle] {
        let (now, clock) = (nowSeconds, clock)
        let listed = ListedSegments()
        var options = TitleOptions()
        options.takesSnapshots = playsTitles
        let results = await withTaskGroup(of: (Int, Result<ReadTitle, Failure>).self) { group in
            for (index, entry) in entries {
                group.addTask { [options] in
                    (
                        index,
                        await Self.title(of: entry, reader, options, nowSeconds: now, clock, listed)
                    )
                }
            }
            return await group.reduce(into: [Int: Result<ReadTitle, Failure>]()) {
                $0[$1.0] = $1.1
            }
        }
        var tracks: [Int: ReadTitle] = [:]
        // Throws for the first in order, not in time, so that the message is stable.
        for (index, _) in entries { tracks[index] = try results[index]?.get() }
        return tracks
    }

    private static func title(
        of entry: Entry, _ reader: TitleReader, _ options: TitleOptions, nowSeconds now: Double,
        _ clock: LoadClock, _ listed: ListedSegments
    ) async -> Result<ReadTitle, Failure> {
        do throws(Failure) {
            let listing = try await reader.read(entry.url, entry.kind, options, nowSeconds: now)
            let machine = clock.seconds + now
            let tracks = try bounded(listing.tracks())
            let count = segments(of: tracks)
            guard listed.add(count) <= segmentsAtOnce else {
                throw Failure(
                    .inputTarget,
                    "it and the titles next to it list more than \(segmentsAtOnce) segments")
            }
            // Single requests are not steered.
            let steering = options.takesSnapshots == true ? try listing.steering() : nil
            return .success(
                ReadTitle(
                    tracks: tracks, live: listing.liveForm, clocks: listing.clocks,
                    answerOffsetSeconds: listing.answeredSeconds.map { $0 - machine },
                    reloads: listing.reloads,
                    variables: listing.variables, redirected: listing.redirectedManifest,
                    steering: steering))
        } catch {
            return .failure(rejection(entry.label, error))
        }
    }

    /// Throws if a title has more segments than a plan can have.
    private static func bounded(_ tracks: [TitleTrack]) throws(Failure) -> [TitleTrack] {
        guard segments(of: tracks) <= LoadPlan.maxObjects else {
            throw Failure(.inputTarget, "it has more than \(LoadPlan.maxObjects) segments")
        }
        return tracks
    }

    private static func segments(of tracks: [TitleTrack]) -> Int {
        tracks.reduce(0) { $0 + $1.segments.count }
    }

    /// Adds the target to a failure. Its code becomes `input.target`, except for an address that an
    /// option rejects, which `run` reports.
    static func rejection(_ label: String, _ failure: Failure) -> Failure {
        switch failure.code {
        case .workerCancelled: failure
        case .inputTarget, .originAddressDenied, .originAddressBlocked:
            Failure(failure.code, "\(label): \(failure.message)")
        case .manifestLive:
            // Viewers play live titles; requests would need segments that are gone.
            Failure(
                .inputTarget, "\(label): \(failure.code): \(failure.message)",
                hint: "Let viewers play a live title: omit --plain. No load was sent.")
        case .originRedirected, .originAddressNotOfTarget:
            Failure(
                .inputTarget,
                "\(label): \(failure.code): \(failure.message). \(failure.code.row.hint)")
        default: Failure(.inputTarget, "\(label): \(failure.code): \(failure.message)")
        }
    }

    /// Creates a reader that fetches manifests from admitted hosts only, at their looked-up
    /// addresses.
    private func reader(_ hosts: LoadHosts) -> TitleReader {
        TitleReader(
            engine: means.engine, group: Self.group, headers: scenario.http.headers.map(\.line),
            maxRedirects: scenario.maxRedirects
        ) { request in
            if let failure = await hosts.rejection(of: request.url) { return .failure(failure) }
            var request = request
            request.access.followsRedirects = false
            if let rule = hosts.rule(of: request.url) {
                request.access.admitsAddress = { rule.admits($0) }
            }
            return .success(request)
        }
    }
}

/// The tracks of a title, and its form if it is live.
private struct ReadTitle: Sendable {
    var tracks: [TitleTrack]
    var live: LiveSource.Form?
    var clocks: [DASHClock]
    var answerOffsetSeconds: Double?
    var reloads: BaseURLLevels?
    var variables: [String: String]
    /// URL of the manifest after redirects; nil if it was not redirected.
    var redirected: String?
    var steering: ContentSteering?
}

extension TitleResolver {
    fileprivate var liveForm: LiveSource.Form? {
        guard isLive else { return nil }
        return kind == .dash ? .dash : .hls
    }
}

/// Counts the segments of concurrently read titles. Safe to use from any thread.
private final class ListedSegments: Sendable {
    private let count = Atomic(0)

    /// Adds segments and returns the total.
    func add(_ segments: Int) -> Int { count.add(segments, ordering: .relaxed).newValue }
}
