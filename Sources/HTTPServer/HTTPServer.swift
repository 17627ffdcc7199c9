internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// An HTTP/1.1 server over libmicrohttpd: its threads parse and write, handlers run as tasks.
///
/// A request is handed over when all of it has arrived; its connection is suspended meanwhile and
/// holds no thread, so thousands may wait. `shutdown` ends it for good.
package final class HTTPServer: Sendable {
    package struct Configuration: Sendable {
        /// A numeric address or `localhost`; `0.0.0.0` or `::` for all interfaces.
        package var address: String
        /// 0 lets the system choose; `HTTPServer.port` tells.
        package var port: UInt16
        /// A longer body is answered with 413.
        package var maximumBodyBytes: Int
        /// Bodies of all requests together that are held, arriving and being handled; the first
        /// 16 KiB of each do not count. A body beyond is answered with 503.
        package var maximumHeldBodyBytes: Int
        /// More wait in the backlog. Suspended ones count.
        package var maximumConnections: Int
        /// A connection that sends or takes nothing for so long is closed; suspended ones are not.
        package var idleTimeoutSeconds: Int
        package var threads: Int
        /// The answer to a request that no handler sees, or that its handler has not answered when
        /// the server ends.
        package var refusal: @Sendable (Refusal) -> HTTPResponse
        /// Asked when the headers are there: the answer to a request whose body is not to be kept,
        /// nil for one that goes to the handler. Runs on the server's threads and must not wait.
        package var admission: Admission
        /// Where a request's handler runs; nil for the concurrency runtime's own threads.
        package var executor: Placement
        /// Whether `shutdown` cancels the handlers' tasks, or lets them come to their end.
        package var cancelsHandlers: Bool

        package init(
            address: String = "127.0.0.1", port: UInt16 = 0, maximumBodyBytes: Int = 8 << 20,
            maximumHeldBodyBytes: Int = 64 << 20, maximumConnections: Int = 4096,
            idleTimeoutSeconds: Int = 60, threads: Int = 2,
            refusal: @escaping @Sendable (Refusal) -> HTTPResponse = {
                .text($0.status, "\($0.reason)\n")
            },
            admission: @escaping Admission = { _ in nil },
            executor: @escaping Placement = { _ in nil }, cancelsHandlers: Bool = true
        ) {
            self.address = address
            self.port = port
            self.maximumBodyBytes = maximumBodyBytes
            self.maximumHeldBodyBytes = maximumHeldBodyBytes
            self.maximumConnections = maximumConnections
            self.idleTimeoutSeconds = idleTimeoutSeconds
            self.threads = threads
            self.refusal = refusal
            self.admission = admission
            self.executor = executor
            self.cancelsHandlers = cancelsHandlers
        }
    }

    package typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse
    package typealias Admission = @Sendable (HTTPRequest) -> HTTPResponse?
    package typealias Placement = @Sendable (HTTPRequest) -> (any TaskExecutor)?

    /// Why the server answers by itself.
    package enum Refusal: Sendable {
        case malformedTarget
        case bodyTooLarge
        /// The bodies that arrive and are handled are as many bytes as may be held.
        case tooManyBodies
        case shuttingDown

        package var status: Int {
            switch self {
            case .malformedTarget: 400
            case .bodyTooLarge: 413
            case .tooManyBodies, .shuttingDown: 503
            }
        }

        package var reason: String {
            switch self {
            case .malformedTarget: "malformed request target"
            case .bodyTooLarge: "body too large"
            case .tooManyBodies: "too many large bodies at once"
            case .shuttingDown: "the server is shutting down"
            }
        }
    }

    /// The port it listens on.
    package let port: UInt16
    private let core: Core
    private let daemon: Mutex<Daemon?>

    /// A running `MHD_Daemon`. Unchecked: all that is done with it is to stop it, once.
    private struct Daemon: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// Request line and headers together; longer ones are answered with 431 or 414.
    private static let headerMemoryBytes = 32 * 1024

    /// Listens and serves from now on.
    package static func start(
        _ configuration: Configuration, handler: @escaping Handler
    ) throws(HTTPServerError) -> HTTPServer {
        let (listener, port) = try ListenSocket.open(
            configuration.address, port: configuration.port)
        let core = Core(handler: handler, configuration)
        var settings = dray_mhd_settings(
            listen_socket: listener,
            connection_limit: UInt32(clamping: max(configuration.maximumConnections, 1)),
            idle_timeout_seconds: UInt32(clamping: max(configuration.idleTimeoutSeconds, 1)),
            threads: UInt32(clamping: min(max(configuration.threads, 1), 64)),
            header_memory_bytes: headerMemoryBytes)
        let context = Unmanaged.passUnretained(core).toOpaque()
        guard
            let pointer = dray_mhd_start(
                &settings, Core.onRequest, Core.onCompleted, context)
        else {
            close(listener)
            throw .failed("libmicrohttpd did not start")
        }
        return HTTPServer(port: port, core: core, daemon: Daemon(pointer: pointer))
    }

    private init(port: UInt16, core: Core, daemon: Daemon) {
        self.port = port
        self.core = core
        self.daemon = Mutex(daemon)
    }

    /// For a server that was dropped without `shutdown`: ends it without any grace.
    deinit {
        guard let running = daemon.withLock({ $0.take() }) else { return }
        core.refuseAndCancel()
        core.abandon()
        MHD_stop_daemon(running.pointer)
    }

    /// Requests that are being handled or answered.
    package var activeRequestCount: Int { core.activeCount }

    /// Cancels the handlers' tasks if so configured, and gives them `graceSeconds` to answer; what is
    /// not answered then gets 503. New requests get 503 at once, on new connections as well: taking
    /// the listening socket away from libmicrohttpd's threads (MHD_quiesce_daemon) makes it abort the
    /// process when one of them lets go of it at that moment.
    package func shutdown(graceSeconds: Double = 5) async {
        guard let running = daemon.withLock({ $0.take() }) else { return }
        core.refuseAndCancel()
        await core.waitUntilIdle(atMostSeconds: graceSeconds)
        core.abandon()
        // The answers are on their way; a peer that does not take them is not waited for.
        await core.waitUntilIdle(atMostSeconds: 1)
        MHD_stop_daemon(running.pointer)
    }
}
