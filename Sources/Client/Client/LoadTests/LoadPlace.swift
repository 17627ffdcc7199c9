import Foundation
package import LoadGenerator
package import LoadModel
package import Model
import Text
import Transfer

/// Where the load of a test comes from.
package protocol LoadPlace: Sendable {
    /// As far as they are known.
    var generators: LoadGenerators { get }

    /// Finds out what there is to be found out before any load is sent.
    func prepare(_ scenario: LoadScenario) async throws -> PreparedLoad

    /// Ends what it has begun; nothing is asked of it after it.
    func close()
}

/// The processes that send the load of a test.
package struct LoadGenerators: Sendable, Equatable {
    /// CPUs that they can use at once, from 1.
    var cores = 1
    /// On a cluster, the number of shards in each state.
    var shares: [LoadShareReport.State: Int] = [:]
}

/// A load that could begin.
package struct PreparedLoad: Sendable {
    var scenario: LoadScenario
    var runner: any LoadRunner
    /// Hosts with addresses of the public Internet, by name, each with the first of them.
    var publicHosts: [(host: String, address: String)]
}

/// This process.
package struct LocalLoadPlace: LoadPlace {
    private let options: LoadEngine.Options
    private let transfer: TransferEngine
    private let lookup: any HostLookup
    private let cores: LocalLoadCores

    /// - Parameter http: how the scenario's requests are made, for manifests as well.
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
        let preflight = LoadPreflight(
            scenario, means, addressPolicy: options.addresses.policy,
            nowSeconds: Date().timeIntervalSince1970)
        let ready = try await preflight.run()
        var options = options
        options.addresses = ready.addresses
        return PreparedLoad(
            scenario: scenario,
            runner: LocalLoadRunner(plan: ready.plan, options: options, cores: cores),
            publicHosts: ready.publicHosts)
    }

    package func close() { transfer.shutdown() }

    /// The assets of a list.
    static func assets(of path: String) async throws(Failure) -> [AssetSubmission] {
        var assets: [AssetSubmission] = []
        _ = try await ListSource(path).read(.check) { some throws(Failure) in
            assets += some
            guard assets.count <= LoadPlan.mostObjects else {
                throw Failure(
                    "input.target",
                    "\(printable(path)) names more than \(LoadPlan.mostObjects) files and titles")
            }
        }
        return assets
    }
}
