package import CommandLine
import HTTPServer
package import Metrics
import Services
import Synchronization

/// Answers `GET /metrics` and further pages of a process on an address of its own. It requires no
/// token, so its pages must show no secret.
package final class MetricsListener: Service {
    /// A page, by the request's `Accept` header.
    package typealias Page = @Sendable (_ accept: String?) -> (contentType: String, body: [UInt8])

    package let name = "metrics"
    /// The option that has the address.
    package static let option = "metrics-listen"

    private let listen: ListenAddress
    private let isQuiet: Bool
    /// Pages by path, `/metrics` among them.
    private let pages: [String: Page]
    private let server = Mutex<HTTPServer?>(nil)

    private static let maxConnections = 32
    private static let maxBodyBytes = 1_024

    package init(_ listen: ListenAddress, isQuiet: Bool, pages: [String: Page]) {
        self.listen = listen
        self.isQuiet = isQuiet
        self.pages = pages
    }

    /// Creates the listener of a worker: its metrics, and `/health`, which answers while the
    /// process runs.
    package convenience init(_ listen: ListenAddress, _ registry: MetricRegistry) {
        self.init(
            listen, isQuiet: false,
            pages: [
                "/metrics": { accept in
                    let format = MetricsFormat(accept: accept)
                    return (format.contentType, registry.text(format))
                },
                "/health": { _ in ("text/plain; charset=utf-8", Array("ok\n".utf8)) },
            ])
    }

    /// Reads `ADDR:PORT`, or a port on loopback.
    package static func address(_ text: String) throws(UsageError) -> ListenAddress {
        let isPort = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return try ListenAddress(isPort ? "127.0.0.1:\(text)" : text, option: option)
    }

    /// Starts the server. Throws a usage error if it cannot listen.
    package func start() async throws {
        let configuration = HTTPServer.Configuration(
            address: listen.address, port: UInt16(clamping: listen.port),
            maximumBodyBytes: Self.maxBodyBytes, maximumConnections: Self.maxConnections)
        do {
            let started = try HTTPServer.start(configuration) { [pages] request in
                Self.answer(request, pages)
            }
            server.withLock { $0 = started }
            // With port 0, the user needs the actual port.
            if !isQuiet || listen.port == 0 {
                Console.note("metrics at \(listen.url(port: Int(started.port)))/metrics")
            }
        } catch {
            throw UsageError(
                "--\(Self.option): \(error)",
                hint: "Choose another address or port; 0 picks a free one.")
        }
    }

    private static func answer(_ request: HTTPRequest, _ pages: [String: Page]) -> HTTPResponse {
        guard let page = pages[request.path] else {
            return .text(404, "the metrics are at /metrics\n")
        }
        guard request.method == "GET" || request.method == "HEAD" else {
            var rejection = HTTPResponse.text(405, "use GET to read the metrics\n")
            rejection.headers.append(("Allow", "GET, HEAD"))
            return rejection
        }
        let (contentType, body) = page(request.header("accept"))
        return HTTPResponse(status: 200, headers: [("Content-Type", contentType)], body: body)
    }

    /// The port on which it listens; nil while it does not.
    package var port: Int? { server.withLock { $0.map { Int($0.port) } } }

    /// Waits for its cancellation: the server's own threads answer requests.
    package func run() async throws { await ShutdownSignal().wait() }

    package func stop() async {
        let running = server.withLock { $0.take() }
        await running?.shutdown(graceSeconds: 1)
    }
}
