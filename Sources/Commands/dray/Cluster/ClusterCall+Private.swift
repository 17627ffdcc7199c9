import Client
import CommandLine
import CoordinatorClient
import Embedded
import Model
import Services
import Text

extension ClusterCall {
    /// Throws if a command for a private cluster would have to create one, which would be empty.
    static func checkPrivate(_ arguments: Arguments) throws {
        let path = try CommonOptions.statePath(arguments)
        guard !StateDirectory.isUsed(path) else { return }
        guard arguments.text(CommonOptions.state.name) == nil else { throw noPrivate(path) }
        throw UsageError(
            "no private cluster exists at \(printable(path)), and DRAY_COORDINATOR is "
                + "not set",
            hint: "Set its directory with --state, or set DRAY_COORDINATOR.")
    }

    /// Returns the failure of a command that needs a running cluster, where `--state` names a directory
    /// without one.
    static func noneRuns(in path: String) -> any Error {
        guard StateDirectory.isUsed(path) else { return noPrivate(path) }
        if let foreign = StateDirectory.foreign(path) { return foreign }
        let shown = printable(path)
        return Failure(
            .clusterCoordinatorUnreachable,
            "no cluster runs in --state '\(shown)'; start one with `dray up --state \(shown)`, or use "
                + "this command while `dray prefetch --state \(shown)` runs")
    }

    private static func noPrivate(_ path: String) -> UsageError {
        UsageError(
            "--state is '\(printable(path))', where no private cluster exists",
            hint: "Use the --state directory of `dray prefetch`, or omit --state.")
    }

    /// Returns true if the private cluster must answer: `--state` names it, or it exists and no
    /// cluster runs.
    static func isPrivate(_ arguments: Arguments) async throws -> Bool {
        let isNamed = arguments.text(CommonOptions.state.name) != nil
        // Without a home directory there is no default state.
        guard let path = try? CommonOptions.statePath(arguments) else { return false }
        guard StateDirectory.isUsed(path) else {
            guard !isNamed else { throw noPrivate(path) }
            return false
        }
        guard !isNamed else { return true }
        let client = try ClusterEndpoint.standard().client()
        defer { client.shutdown() }
        do throws(Failure) {
            try await client.readiness(retrySeconds: 0)
            return false
        } catch {
            return error.code.isOfUnreachableCoordinator
        }
    }

    /// Starts a private cluster for one call.
    static func askPrivate(
        _ statePath: String, workers: Int,
        _ body: @escaping @Sendable (CoordinatorClient) async throws -> String
    ) async throws -> ExitCode {
        let cluster = try await ClusterVariables.prepare(
            EmbeddedCluster.Configuration(
                statePath: statePath, workers: workers,
                connectionsPerWorker: CommonOptions.defaultConnections, address: "127.0.0.1",
                port: 0, token: .ofThisRun, interruptsOthers: false,
                drainSeconds: ClientSettings.drainSeconds, environment: ClientSettings.environment))
        // Its end stops the cluster.
        let call = ClusterCallService(
            makeClient: {
                try CoordinatorClient(
                    endpoints: cluster.coordinatorURL, token: cluster.token,
                    trace: CommandTrace.current)
            }, body: body)
        let group = ServiceGroup(
            stages: cluster.stages + [[call]], graceSeconds: ClientSettings.drainSeconds,
            signals: try ProcessSignals.stream())
        return try await group.run() == .finished ? .success : .interrupted
    }
}
