import Embedded
package import Model
package import Services
import Synchronization

/// Runs `dray benchmark queue`: a private PostgreSQL server, coordinators in their own processes,
/// and the measurement.
///
/// Services for a `ServiceGroup`, in their starting order. The user's own state is not used.
package final class BenchmarkSession: Service {
    package let name = "benchmark"
    private let options: BenchmarkOptions
    private let directory: BenchmarkDirectory
    private let tokenFile: TokenFile
    private let postgres: EmbeddedPostgres
    private let note: @Sendable (String) -> Void
    private let state = Mutex(State())

    private struct State {
        /// Set while it runs.
        var cluster: BenchmarkCluster?
        var report: (any BenchmarkReport)?
    }

    /// - Parameters:
    ///   - parent: directory for the databases' directory; on a disk.
    ///   - note: called with progress messages.
    ///
    /// Throws `input.destination` if the directory cannot be created or has too little space.
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

    /// The server, and then the measurement.
    package var stages: [[any Service]] { [[postgres], [self]] }

    /// The result; nil if it was interrupted.
    package var report: (any BenchmarkReport)? { state.withLock { $0.report } }

    /// Removes the directory; call it after the group has ended.
    package func removeDirectory() { directory.remove() }

    package func run() async throws {
        let cluster = try BenchmarkCluster(
            postgres: postgres, directory: directory.path, tokenFile: tokenFile,
            tls: options.tls)
        state.withLock { $0.cluster = cluster }
        let report = try await measure(cluster)
        state.withLock { $0.report = report }
    }

    package func stop() async {
        let cluster = state.withLock { $0.cluster.take() }
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
