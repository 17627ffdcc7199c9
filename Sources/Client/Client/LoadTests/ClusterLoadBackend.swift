import API
import CoordinatorClient
import LoadGenerator
package import LoadModel
package import Model
import Synchronization
import Text

/// Runs a load test on the workers of a cluster.
package struct ClusterLoadBackend: LoadBackend {
    private let client: CoordinatorClient
    private let options: ClusterLoadRunner.Options
    private let isConfirmed: Bool
    private let notes: ClusterLoadNotes

    /// - Parameter isConfirmed: true if a load may go to public addresses without a notice.
    package init(
        _ cluster: ClusterEndpoint, _ options: ClusterLoadRunner.Options, isConfirmed: Bool,
        note: @escaping ClusterLoadNotes.Note
    ) throws(Failure) {
        self.isConfirmed = isConfirmed
        client = try cluster.client(timeoutSeconds: Self.answerSeconds)
        self.options = options
        notes = ClusterLoadNotes(note)
    }

    /// Timeout of a request in seconds: a coordinator that takes longer may hang, and is retried.
    private static let answerSeconds = 10.0

    package var generators: LoadGenerators { notes.generators }

    package func prepare(_ scenario: LoadScenario) async throws -> PreparedLoad {
        var scenario = try await Self.withoutLists(scenario)
        try LoadScenarioWriter.checkFiles(of: scenario)
        let data = try Self.data(of: scenario)
        let hosts = await scenario.hosts()
        // Workers may resolve hosts to other addresses than those in the notice.
        if !isConfirmed {
            scenario.privateHosts = Set(scenario.privateHosts + hosts.closed).sorted()
        }
        return PreparedLoad(
            scenario: scenario,
            runner: ClusterLoadRunner(client: client, options, data) { [notes] in
                notes.report($0)
            },
            publicHosts: hosts.open)
    }

    package func close() { client.shutdown() }

    /// Reads and divides the viewers' data, or a replay; returns nil for other scenarios.
    private static func data(of scenario: LoadScenario) throws(Failure) -> LoadParts? {
        if let replay = scenario.replay { return try LoadParts(replay) }
        guard case .viewers(let settings) = scenario.user, let path = settings.data else {
            return nil
        }
        do throws(Failure) {
            return try LoadParts(
                viewerData: try SmallFile.read(path, maximumBytes: ViewerData.maxBytes).0)
        } catch {
            throw ViewerData.rejection(path, error)
        }
    }

    /// Replaces lists by their assets: workers cannot read this machine's files.
    private static func withoutLists(_ scenario: LoadScenario) async throws -> LoadScenario {
        var whole = scenario
        whole.targets = []
        for target in scenario.targets {
            guard case .list(let path) = target.source else {
                whole.targets.append(target)
                continue
            }
            let assets = try await LocalLoadBackend.assets(of: path)
            for asset in assets {
                var one = LoadTarget(
                    name: LoadScenarioWriter.name(
                        printable(Redaction.name(asset.name, ofURL: asset.url))),
                    source: .url(asset.url, asset.kind))
                if case .weights = scenario.popularity {
                    one.weight = max(
                        target.weight / Double(assets.count), LoadLimits.weight.lowerBound)
                }
                one.mayFail = target.mayFail
                one.sha256 = asset.kind == .file ? asset.sha256 : nil
                whole.targets.append(one)
            }
            guard whole.targets.count <= LoadLimits.targets else {
                throw Failure(
                    .inputTooLarge,
                    "A test on a cluster has at most \(LoadLimits.targets) targets; "
                        + "\(printable(path)) has more.")
            }
        }
        try whole.check()
        return whole
    }
}

/// Shows the state of a test's workers. Safe from any thread.
package final class ClusterLoadNotes: Sendable {
    /// Shows a line; `isNeeded` shows it in quiet mode too.
    package typealias Note = @Sendable (_ text: String, _ isNeeded: Bool) -> Void

    private let show: Note
    private let state = Mutex(State())

    private struct State {
        var noted: Set<String> = []
        var generators = LoadGenerators()
    }

    init(_ show: @escaping Note) { self.show = show }

    /// The workers of the latest reported test.
    var generators: LoadGenerators { state.withLock { $0.generators } }

    func report(_ status: LoadTestStatus) {
        let generators = Self.generators(status)
        state.withLock { $0.generators = generators }
        let wanted = status.workers.map { " of \($0)" } ?? ""
        switch status.state {
        case .waiting:
            let ready = status.shards.count { $0.state == .ready }
            note("waiting for workers: \(ready)\(wanted) ready", status, isNeeded: false)
        case .running, .stopping, .ended:
            let count = status.shards.count { $0.number != nil }
            if status.started != nil {
                let workers = "\(count) worker\(count == 1 ? "" : "s")"
                note("the load comes from \(workers)", status, isNeeded: false)
            }
        }
        for shard in status.shards where shard.number != nil {
            guard shard.state == .lost || shard.state == .failed else { continue }
            let reason = shard.failure.map { ": \(printable($0.message))" } ?? ""
            note(
                "worker \(printable(shard.name)) is \(shard.state.rawValue) from second "
                    + "\(shard.nextSecond) on\(reason)", status, isNeeded: true)
        }
    }

    private static func generators(_ status: LoadTestStatus) -> LoadGenerators {
        var generators = LoadGenerators()
        let shards = status.shards.filter { $0.number != nil }
        generators.cores = max(shards.reduce(0) { $0 + $1.cores }, 1)
        for shard in shards {
            generators.shards[ClusterLoadMerge.state(shard.state), default: 0] += 1
        }
        return generators
    }

    private func note(_ text: String, _ status: LoadTestStatus, isNeeded: Bool) {
        let isNew = state.withLock { $0.noted.insert("\(status.id) \(text)").inserted }
        if isNew { show(text, isNeeded) }
    }
}
