import EventLoop
import JobQueue
import Postgres
import Services

/// Wakes long polls on NOTIFY; reconnects when its connection breaks.
struct WorkListener: Service {
    let name = "listener"
    let databaseURL: String
    let loop: EventLoop
    let signal: WorkSignal
    let memory: ClusterMemory
    private let log = Logger("coordinator")

    init(databaseURL: String, loop: EventLoop, signal: WorkSignal, memory: ClusterMemory) {
        self.databaseURL = databaseURL
        self.loop = loop
        self.signal = signal
        self.memory = memory
    }

    /// Runs until its task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                try await listen()
            } catch {
                log.debug("listening for work failed", ["error": "\(error)"])
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func listen() async throws {
        let connection = try await PostgresConnection.connect(
            PostgresConfiguration.queue(url: databaseURL, applicationName: "dray listener"),
            on: loop)
        try await connection.listen(to: "dray_work")
        // Reads changes that were missed without a connection.
        await memory.readCooldowns()
        await memory.readSiteBounds()
        await memory.readLoadTests()
        await memory.readAudits()
        await memory.readSources()
        await memory.readTokens()
        signal.fire()
        await withTaskCancellationHandler {
            for await notification in connection.notifications {
                switch notification.payload {
                case "load tests":
                    await memory.readLoadTests()
                    continue
                case "audits":
                    await memory.readAudits()
                    continue
                case "sources":
                    await memory.readSources()
                    continue
                case "tokens":
                    await memory.readTokens()
                    continue
                case "origins": await memory.readCooldowns()
                case "sites": await memory.readSiteBounds()
                default: break
                }
                signal.fire()
            }
        } onCancel: {
            Task { await connection.close() }
        }
        await connection.close()
    }
}
