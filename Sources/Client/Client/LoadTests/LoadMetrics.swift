package import CommandLine
import Foundation
import HTTPServer
package import LoadModel
import LoadReport
import Services
import Synchronization

/// Serves the metrics of a running load test. Safe to use from any thread.
package final class LoadMetrics: Sendable {
    private let live: Mutex<LoadLive>
    private let generators: @Sendable () -> LoadGenerators

    /// - Parameter generators: called for each request.
    package init(_ scenario: LoadScenario, generators: @escaping @Sendable () -> LoadGenerators) {
        live = Mutex(LoadLive(scenario, startedSeconds: Date().timeIntervalSince1970))
        self.generators = generators
    }

    /// Starts the metrics of a run.
    func begin(_ scenario: LoadScenario) { live.withLock { $0.begin(scenario) } }

    /// Adds a complete second, and the totals up to then.
    func take(_ interval: LoadInterval, _ result: LoadResult) {
        live.withLock { $0.add(interval, of: result) }
    }

    /// Ends the run's metrics.
    func end() { live.withLock { $0.end() } }

    /// The metrics in Prometheus's text format.
    var page: String {
        let generators = generators()
        var copy = live.withLock(\.self)
        copy.cores = generators.cores
        copy.shards = generators.shards
        return LoadPrometheus.text(copy)
    }
}

/// Answers `GET /metrics` during a load test. It shows no URL and no header, and requires no token.
package final class LoadMetricsService: Service {
    package let name = "metrics"
    private let listen: ListenAddress
    private let isQuiet: Bool
    private let metrics: LoadMetrics
    private let server = Mutex<HTTPServer?>(nil)

    private static let maxConnections = 32
    private static let maxBodyBytes = 1_024

    package init(_ listen: ListenAddress, isQuiet: Bool, _ metrics: LoadMetrics) {
        self.listen = listen
        self.isQuiet = isQuiet
        self.metrics = metrics
    }

    /// Reads `ADDR:PORT`, or a port on loopback.
    package static func address(_ text: String) throws(UsageError) -> ListenAddress {
        let isPort = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return try ListenAddress(isPort ? "127.0.0.1:\(text)" : text, option: "metrics-listen")
    }

    /// Starts the server. Throws a usage error if it cannot listen; nothing has been sent then.
    package func start() async throws {
        let configuration = HTTPServer.Configuration(
            address: listen.address, port: UInt16(clamping: listen.port),
            maximumBodyBytes: Self.maxBodyBytes, maximumConnections: Self.maxConnections)
        do {
            let started = try HTTPServer.start(configuration) { [metrics] request in
                Self.answer(request, metrics)
            }
            server.withLock { $0 = started }
            // With port 0, the user needs the actual port.
            if !isQuiet || listen.port == 0 {
                Console.note("metrics at \(listen.url(port: Int(started.port)))/metrics")
            }
        } catch {
            throw UsageError(
                "--metrics-listen: \(error)",
                hint: "Choose another address or port; 0 picks a free one.")
        }
    }

    private static func answer(_ request: HTTPRequest, _ metrics: LoadMetrics) -> HTTPResponse {
        guard request.path == "/metrics" else { return .text(404, "the metrics are at /metrics\n") }
        guard request.method == "GET" || request.method == "HEAD" else {
            var refusal = HTTPResponse.text(405, "use GET to read the metrics\n")
            refusal.headers.append(("Allow", "GET, HEAD"))
            return refusal
        }
        return HTTPResponse(
            status: 200,
            headers: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
            body: Array(metrics.page.utf8))
    }

    /// Waits for its cancellation: the server's own threads answer requests.
    package func run() async throws { await ShutdownSignal().wait() }

    package func stop() async {
        let running = server.withLock { $0.take() }
        await running?.shutdown(graceSeconds: 1)
    }
}
