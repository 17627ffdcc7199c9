internal import Glibc
internal import Synchronization

/// An HTTP/1.1 server: one thread reads and writes, handlers run as tasks.
///
/// A request is handed over when all of it has arrived; a request that is handled holds no thread,
/// so thousands may wait. Connections of unknown senders are bounded and give way to each other
/// (see `ConnectionTable`). `shutdown` ends it for good.
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
        /// For another one, the oldest of a stranger or the oldest idle one is closed. No more than
        /// half of the descriptors that the process may have.
        package var maximumConnections: Int
        /// Of those, connections on which no request was `known` yet: in all, no more than half,
        /// and from one address (an IPv6 network of 64 bits; loopback has none). The oldest gives
        /// way.
        package var maximumStrangers: Int
        package var maximumStrangersOfAddress: Int
        package var deadlines: Deadlines
        /// The answer to a request that no handler sees, or that its handler has not answered when
        /// the server ends.
        package var refusal: @Sendable (Refusal) -> HTTPResponse
        /// Called when the headers have arrived: decides what becomes of the request, before its body
        /// is kept. Runs on the server's threads and must not wait.
        package var admission: Admission
        /// Asked when the headers are there: whether the sender is one for whom room is kept. A
        /// connection is known from its first such request on; one of a stranger is closed after an
        /// answer.
        package var knows: @Sendable (HTTPRequest) -> Bool
        /// Whether `shutdown` cancels the handlers' tasks, or lets them come to their end.
        package var cancelsHandlers: Bool

        package init(
            address: String = "127.0.0.1", port: UInt16 = 0, maximumBodyBytes: Int = 8 << 20,
            maximumHeldBodyBytes: Int = 64 << 20, maximumConnections: Int = 4096,
            maximumStrangers: Int = 1024, maximumStrangersOfAddress: Int = 256,
            deadlines: Deadlines = Deadlines(),
            refusal: @escaping @Sendable (Refusal) -> HTTPResponse = {
                .text($0.status, "\($0.reason)\n")
            },
            admission: @escaping Admission = { _ in .admitted },
            knows: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true },
            cancelsHandlers: Bool = true
        ) {
            self.address = address
            self.port = port
            self.maximumBodyBytes = maximumBodyBytes
            self.maximumHeldBodyBytes = maximumHeldBodyBytes
            self.maximumConnections = maximumConnections
            self.maximumStrangers = maximumStrangers
            self.maximumStrangersOfAddress = maximumStrangersOfAddress
            self.deadlines = deadlines
            self.refusal = refusal
            self.admission = admission
            self.knows = knows
            self.cancelsHandlers = cancelsHandlers
        }
    }

    package typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse
    package typealias Admission = @Sendable (HTTPRequest) -> Decision
    /// Where a request's handler runs; nil for the concurrency runtime's own threads.
    package typealias Placement = @Sendable (HTTPRequest) -> (any TaskExecutor)?

    /// What becomes of a request, decided from its headers.
    package enum Decision: Sendable {
        /// The answer, once the body has been read and dropped.
        case refused(HTTPResponse)
        /// The server's own handler answers.
        case admitted
        /// The handler that was found for it answers.
        case routed(Handler, on: Placement)
    }

    /// How long a connection may take for what it does. A request that is handled has no deadline.
    package struct Deadlines: Sendable {
        /// From the connection, or from a later request's first byte, to the end of its head.
        package var headSeconds: Double
        /// Between requests.
        package var idleSeconds: Double
        /// For a body or an answer, and a second more for each `minimumBytesPerSecond` that have
        /// moved.
        package var transferSeconds: Double
        package var minimumBytesPerSecond: Int
        /// From the last answer until the peer has closed its side.
        package var lingerSeconds: Double

        package init(
            headSeconds: Double = 10, idleSeconds: Double = 60, transferSeconds: Double = 30,
            minimumBytesPerSecond: Int = 16 << 10, lingerSeconds: Double = 2
        ) {
            self.headSeconds = headSeconds
            self.idleSeconds = idleSeconds
            self.transferSeconds = transferSeconds
            self.minimumBytesPerSecond = max(minimumBytesPerSecond, 1)
            self.lingerSeconds = lingerSeconds
        }
    }

    /// The port it listens on.
    package let port: UInt16
    private let server: ServerLoop
    private let isRunning = Atomic<Bool>(true)

    /// Listens and serves from now on.
    ///
    /// - Parameter handler: answers the requests that `admission` has found no handler for.
    package static func start(
        _ configuration: Configuration, handler: @escaping Handler = { _ in .text(404, "") }
    ) throws(HTTPServerError) -> HTTPServer {
        let (listener, port) = try ListenSocket.open(
            configuration.address, port: configuration.port)
        do throws(HTTPServerError) {
            let server = try ServerLoop(configuration, listener: listener, handler: handler)
            return HTTPServer(port: port, server: server)
        } catch {
            close(listener)
            throw error
        }
    }

    private init(port: UInt16, server: ServerLoop) {
        self.port = port
        self.server = server
    }

    /// For a server that was dropped without `shutdown`: ends it without any grace.
    deinit {
        guard isRunning.exchange(false, ordering: .acquiringAndReleasing) else { return }
        server.active.refuseAndCancel()
        server.active.abandon(with: server.configuration.refusal(.shuttingDown))
        server.stop()
    }

    /// Requests that are being handled or answered.
    package var activeRequestCount: Int { server.active.count }

    /// Cancels the handlers' tasks if so configured, and gives them `graceSeconds` to answer; what
    /// is not answered then gets 503. New requests get 503 at once, on new connections as well.
    package func shutdown(graceSeconds: Double = 5) async {
        guard isRunning.exchange(false, ordering: .acquiringAndReleasing) else { return }
        server.active.refuseAndCancel()
        await server.active.waitUntilIdle(atMostSeconds: graceSeconds)
        server.active.abandon(with: server.configuration.refusal(.shuttingDown))
        // The answers are on their way; a peer that does not take them is not waited for.
        await server.active.waitUntilIdle(atMostSeconds: 1)
        server.stop()
    }
}
