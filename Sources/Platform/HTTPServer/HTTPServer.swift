internal import Glibc
internal import Synchronization
package import TLS

/// An HTTP/1.1 server, also over TLS: one thread reads and writes, handlers run as tasks.
///
/// A handler gets a request when all of it has arrived. A handled request occupies no thread, so
/// thousands may wait. Connections of unknown senders are limited and replace each other (see
/// `ConnectionTable`). `shutdown` is final.
package final class HTTPServer: Sendable {
    package struct Configuration: Sendable {
        /// A numeric address or `localhost`; `0.0.0.0` or `::` for all interfaces.
        package var address: String
        /// 0 lets the system choose; `HTTPServer.port` has the result.
        package var port: UInt16
        /// Maximum length of a body; a longer one is answered with 413.
        package var maximumBodyBytes: Int
        /// Maximum bytes of all bodies that arrive or are handled; the first 16 KiB of each do not
        /// count. A body beyond is answered with 503.
        package var maximumHeldBodyBytes: Int
        /// Maximum of connections, at most half of the process's descriptors. For a further one,
        /// the oldest of a stranger or the oldest idle one is closed.
        package var maximumConnections: Int
        /// Maximum of connections without a `known` request: in total, at most half, and per
        /// address. An address is an IPv6 network of 64 bits; loopback has no limit. The oldest is
        /// closed.
        package var maximumStrangers: Int
        package var maximumStrangersOfAddress: Int
        package var deadlines: Deadlines
        /// The response to a request that no handler gets, or that its handler has not answered
        /// when the server ends.
        package var rejection: @Sendable (Rejection) -> HTTPResponse
        /// Decides about a request when its headers have arrived, before its body is stored. Runs
        /// on the server's threads and must not wait.
        package var admission: Admission
        /// Returns true for a sender with a reserved slot; called when the headers have arrived. A
        /// connection is known from its first such request on; a stranger's is closed after a
        /// response.
        package var knows: @Sendable (HTTPRequest) -> Bool
        /// True if `shutdown` cancels the handlers' tasks, false if it lets them end.
        package var cancelsHandlers: Bool
        /// The server's certificate; nil for plain HTTP. Then it serves TLS only, and a request
        /// without is answered with 400. A handshake counts as a part of the first head.
        package var tls: TLSServerCertificate?
        /// Gets the peer's address and the reason when a handshake fails. Runs on the server's
        /// thread and must not wait.
        package var handshakeFailed: @Sendable (_ address: String, _ reason: String) -> Void

        package init(
            address: String = "127.0.0.1", port: UInt16 = 0, maximumBodyBytes: Int = 8 << 20,
            maximumHeldBodyBytes: Int = 64 << 20, maximumConnections: Int = 4096,
            maximumStrangers: Int = 1024, maximumStrangersOfAddress: Int = 256,
            deadlines: Deadlines = Deadlines(),
            rejection: @escaping @Sendable (Rejection) -> HTTPResponse = {
                .text($0.status, "\($0.reason)\n")
            },
            admission: @escaping Admission = { _ in .admitted },
            knows: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true },
            cancelsHandlers: Bool = true, tls: TLSServerCertificate? = nil,
            handshakeFailed: @escaping @Sendable (String, String) -> Void = { _, _ in }
        ) {
            self.address = address
            self.port = port
            self.maximumBodyBytes = maximumBodyBytes
            self.maximumHeldBodyBytes = maximumHeldBodyBytes
            self.maximumConnections = maximumConnections
            self.maximumStrangers = maximumStrangers
            self.maximumStrangersOfAddress = maximumStrangersOfAddress
            self.deadlines = deadlines
            self.rejection = rejection
            self.admission = admission
            self.knows = knows
            self.cancelsHandlers = cancelsHandlers
            self.tls = tls
            self.handshakeFailed = handshakeFailed
        }
    }

    package typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse
    package typealias Admission = @Sendable (HTTPRequest) -> Decision
    /// Returns the executor of a request's handler; nil for the concurrency runtime's own threads.
    package typealias Placement = @Sendable (HTTPRequest) -> (any TaskExecutor)?

    /// A decision about a request, from its headers.
    package enum Decision: Sendable {
        /// The response, once the body has been read and dropped.
        case refused(HTTPResponse)
        /// The server's own handler answers.
        case admitted
        /// The route's handler answers.
        case routed(Handler, on: Placement)
    }

    /// Deadlines of a connection's steps. A request at its handler has none.
    package struct Deadlines: Sendable {
        /// From the connection, or from a later request's first byte, to the end of its head.
        package var headSeconds: Double
        /// Between requests.
        package var idleSeconds: Double
        /// For a body or a response, plus a second for each `minimumBytesPerSecond` transferred.
        package var transferSeconds: Double
        package var minimumBytesPerSecond: Int
        /// From the last response until the peer has closed its side.
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

    /// Starts to listen and serve.
    ///
    /// - Parameter handler: Answers the requests that `admission` has not routed.
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

    /// Ends a server that was dropped without `shutdown`, at once.
    deinit {
        guard isRunning.exchange(false, ordering: .acquiringAndReleasing) else { return }
        server.active.refuseAndCancel()
        server.active.abandon(with: server.configuration.rejection(.shuttingDown))
        server.stop()
    }

    /// Number of requests that are being handled or answered.
    package var activeRequestCount: Int { server.active.count }

    /// Number of open connections, idle ones included.
    package var connectionCount: Int { server.connectionCount }

    /// Cancels the handlers' tasks if so configured, and gives them `graceSeconds` to answer; the
    /// others get 503. New requests get 503 at once, also on new connections. Streams end at once.
    package func shutdown(graceSeconds: Double = 5) async {
        guard isRunning.exchange(false, ordering: .acquiringAndReleasing) else { return }
        server.active.refuseAndCancel()
        server.endStreams()
        await server.active.waitUntilIdle(atMostSeconds: graceSeconds)
        server.active.abandon(with: server.configuration.rejection(.shuttingDown))
        // The responses are being sent; a peer that does not read them is not waited for.
        await server.active.waitUntilIdle(atMostSeconds: 1)
        server.stop()
    }
}
