import Foundation
import ListSources
package import LoadGenerator
package import LoadModel
package import Model
import Text
package import Transfer

/// The processes from which the load of a test comes.
package protocol LoadBackend: Sendable {
    /// The generators, as far as they are known.
    var generators: LoadGenerators { get }

    /// Prepares a load: checks scenario and targets before any load is sent.
    func prepare(_ scenario: LoadScenario) async throws -> PreparedLoad

    /// Ends all that it started; no call may follow.
    func close()
}

/// The processes that send the load of a test.
package struct LoadGenerators: Sendable, Equatable {
    /// Number of CPUs that they can use at once, from 1.
    var cores = 1
    /// Number of shards in each state, on a cluster.
    var shards: [LoadShardReport.State: Int] = [:]
}

/// A load that is ready to start.
package struct PreparedLoad: Sendable {
    var scenario: LoadScenario
    var runner: any LoadRunner
    /// Names of hosts with public addresses, each with its first one.
    var publicHosts: [(host: String, address: String)]
}

/// Runs a load test in this process.
package struct LocalLoadBackend: LoadBackend {
    private let options: LoadEngine.Options
    private let transfer: TransferEngine
    private let lookup: any HostLookup
    private let cores: LocalLoadCores

    /// - Parameter http: HTTP settings of the scenario's requests, for manifests as well.
    package init(
        _ options: LoadEngine.Options, _ http: LoadHTTP,
        lookup: any HostLookup = SystemHostLookup()
    ) throws(Failure) {
        self.options = options
        self.lookup = lookup
        cores = LocalLoadCores(ThisMachine.Generator().cores(threads: options.threads))
        transfer = try TransferEngine(
            options: LoadPreflight.transferOptions(http, options.addresses.policy))
    }

    package var generators: LoadGenerators { LoadGenerators(cores: cores.count) }

    package func prepare(_ scenario: LoadScenario) async throws -> PreparedLoad {
        var means = LoadPreflight.Means(engine: transfer, readList: Self.assets)
        means.lookup = lookup
        means.readData = { (path) throws(Failure) in
            try SmallFile.read(path, maximumBytes: ViewerData.maxBytes).0
        }
        let preflight = LoadPreflight(
            scenario, means, addressPolicy: options.addresses.policy,
            nowSeconds: Date().timeIntervalSince1970)
        let ready = try await preflight.run()
        try scenario.checkGroups(of: ready.plan)
        var options = options
        options.addresses = ready.addresses
        return PreparedLoad(
            scenario: scenario,
            runner: LocalLoadRunner(plan: ready.plan, options: options, cores: cores),
            publicHosts: ready.publicHosts)
    }

    package func close() { transfer.shutdown() }

    /// Reads the assets of a list.
    static func assets(of path: String) async throws(Failure) -> [AssetSubmission] {
        var assets: [AssetSubmission] = []
        _ = try await ListSource(path).read(.check) { some throws(Failure) in
            assets += some
            guard assets.count <= LoadPlan.maxObjects else {
                throw Failure(
                    .inputTarget,
                    "\(printable(path)) lists more than \(LoadPlan.maxObjects) files and titles")
            }
        }
        return assets
    }
}
