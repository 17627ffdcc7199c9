import Embedded
package import Model
package import Services
import Synchronization

/// `dray benchmark queue`: a private PostgreSQL server, coordinators as processes of their own, and
/// what is measured with them.
///
/// Services for a `ServiceGroup`, in the order of their start. Nothing of the user's own state is
/// touched.
package final class BenchmarkSession: Service {
    package let name = "benchmark"
    private let options: BenchmarkOptions
    private let directory: BenchmarkDirectory
    private let tokenFile: TokenFile
    private let postgres: EmbeddedPostgres
    private let note: @Sendable (String) -> Void
    private let cluster = Mutex<BenchmarkCluster?>(nil)
    private let found = Mutex<(any BenchmarkReport)?>(nil)

    /// - Parameters:
    ///   - parent: where the databases' directory is made; on a disk.
    ///   - note: told how far it is.
    ///
    /// Throws `input.destination` when the directory cannot be made or has too little space.
    package static func prepare(
        _ options: BenchmarkOptions, parent: String,
        environment: [String: String], note: @escaping @Sendable (String) -> Void
    ) async throws(Failure) -> BenchmarkSession {
        let directory = try BenchmarkDirectory(in: parent, bytes: options.expectedBytes)
        do throws(Failure) {
            let state = try await StateDirectory.open(directory.path)
            _ = try state.tokenFile.readOrMake()
            return BenchmarkSession(
                options, directory: directory, tokenFile: state.tokenFile,
                postgres: EmbeddedPostgres(state: state, environment: environment), note: note)
        } catch {
            directory.remove()
            throw error
        }
    }

    private init(
        _ options: BenchmarkOptions, directory: BenchmarkDirectory, tokenFile: TokenFile,
        postgres: EmbeddedPostgres, note: @escaping @Sendable (String) -> Void
    ) {
        self.options = options
        self.directory = directory
        self.tokenFile = tokenFile
        self.postgres = postgres
        self.note = note
    }

    /// The server before what is measured with it.
    package var stages: [[any Service]] { [[postgres], [self]] }

    /// What was found; nil when it did not come to its end.
    package var report: (any BenchmarkReport)? { found.withLock { $0 } }

    /// Takes everything away; after the group has ended.
    package func removeDirectory() { directory.remove() }

    package func run() async throws {
        let cluster = try BenchmarkCluster(
            postgres: postgres, directory: directory.path, tokenFile: tokenFile)
        self.cluster.withLock { $0 = cluster }
        let report = try await measure(cluster)
        found.withLock { $0 = report }
    }

    package func stop() async {
        let cluster = cluster.withLock { $0.take() }
        await cluster?.stop()
    }

    private func measure(_ cluster: BenchmarkCluster) async throws -> any BenchmarkReport {
        switch options.mode {
        case .throughput:
            try await ThroughputBenchmark(cluster: cluster, options: options, note: note).run()
        case .waiting(let count):
            try await WaitingBenchmark(
                cluster: cluster, options: options, waiting: count, note: note
            ).run()
        case .idleTransaction:
            try await IdleTransactionBenchmark(
                cluster: cluster, options: options, note: note
            ).run()
        case .wakeUps(let count):
            try await WakeUpBenchmark(
                cluster: cluster, options: options, count: count, note: note
            ).run()
        case .idle:
            try await IdleBenchmark(cluster: cluster, options: options, note: note).run()
        case .beside(let command):
            try await BesideBenchmark(
                cluster: cluster, options: options, command: command, note: note
            ).run()
        }
    }
}
