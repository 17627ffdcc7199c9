internal import CMicroHTTPD
internal import Synchronization

/// What libmicrohttpd's callbacks work on.
final class Core: Sendable {
    private let handler: HTTPServer.Handler
    private let admission: HTTPServer.Admission
    private let executor: HTTPServer.Placement
    private let cancelsHandlers: Bool
    private let bodies: BodyBudget
    private let malformed: HTTPResponse
    private let tooLarge: HTTPResponse
    private let busy: HTTPResponse
    private let shuttingDown: HTTPResponse
    private let state = Mutex(State())

    private struct State {
        /// Handed to a handler and not yet done with.
        var active: [ObjectIdentifier: Exchange] = [:]
        var isRefusing = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    init(handler: @escaping HTTPServer.Handler, _ configuration: HTTPServer.Configuration) {
        self.handler = handler
        admission = configuration.admission
        executor = configuration.executor
        cancelsHandlers = configuration.cancelsHandlers
        bodies = BodyBudget(
            maximumBodyBytes: max(configuration.maximumBodyBytes, 0),
            maximumHeldBytes: max(configuration.maximumHeldBodyBytes, 0))
        let refusal = configuration.refusal
        malformed = refusal(.malformedTarget)
        tooLarge = refusal(.bodyTooLarge).closing
        busy = refusal(.tooManyBodies)
        shuttingDown = refusal(.shuttingDown).closing
    }

    var activeCount: Int { state.withLock(\.active.count) }

    // MARK: Callbacks, on libmicrohttpd's threads

    /// Called for the headers, for each piece of the body, at its end, and after a resume.
    static let onRequest: MHD_AccessHandlerCallback = {
        context, connection, url, method, _, data, size, slot in
        guard let context, let connection, let url, let method, let size, let slot else {
            return .NO
        }
        let core = Unmanaged<Core>.fromOpaque(context).takeUnretainedValue()
        guard let known = slot.pointee else {
            let exchange = Exchange(connection: connection)
            slot.pointee = Unmanaged.passRetained(exchange).toOpaque()
            return core.begin(
                exchange, connection: connection, method: String(cString: method),
                path: String(cString: url))
        }
        let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
        if size.pointee > 0 {
            let bytes = UnsafeRawBufferPointer(start: data, count: size.pointee)
            size.pointee = 0
            return exchange.receive(bytes, core.bodies) ? .YES : .NO
        }
        if let response = exchange.takeResponse() {
            return core.queue(response, on: connection)
        }
        return core.hand(exchange, connection: connection)
    }

    /// Called once for each request, answered or not: the last use of the exchange.
    static let onCompleted: MHD_RequestCompletedCallback = { context, _, slot, _ in
        guard let context, let slot, let known = slot.pointee else { return }
        slot.pointee = nil
        let exchange = Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue()
        let core = Unmanaged<Core>.fromOpaque(context).takeUnretainedValue()
        exchange.letGo(core.bodies)
        core.remove(exchange)
    }

    /// The headers are there: a body that announces itself as too long is not waited for, and one
    /// of a request that gets no further is not kept.
    private func begin(
        _ exchange: Exchange, connection: OpaquePointer, method: String, path: String
    ) -> MHD_Result {
        if let text = Self.header("Content-Length", of: connection), let length = Int(text),
            length > bodies.maximumBodyBytes
        {
            return queue(tooLarge, on: connection)
        }
        if let request = Self.request(connection: connection, method: method, path: path) {
            exchange.begin(request, refusal: admission(request))
        } else {
            exchange.begin(nil, refusal: malformed)
        }
        return .YES
    }

    private func hand(_ exchange: Exchange, connection: OpaquePointer) -> MHD_Result {
        var request: HTTPRequest
        switch exchange.takeRequest() {
        case .whole(let whole): request = whole
        case .refused(let response): return queue(response, on: connection)
        case .tooLarge: return queue(tooLarge, on: connection)
        case .tooMuchAtOnce: return queue(busy, on: connection)
        }
        request.isPeerConnected = { exchange.isPeerConnected }
        let isAccepted = state.withLock { state in
            if !state.isRefusing { state.active[ObjectIdentifier(exchange)] = exchange }
            return !state.isRefusing
        }
        guard isAccepted else { return queue(shuttingDown, on: connection) }
        exchange.suspend()
        let task = Task(executorPreference: executor(request)) { [handler, request] in
            exchange.finish(await handler(request))
        }
        guard cancelsHandlers else { return .YES }
        exchange.setTask(task)
        // Between the check and `setTask` a shutdown has found no task to cancel.
        if state.withLock(\.isRefusing) { task.cancel() }
        return .YES
    }

    private func remove(_ exchange: Exchange) {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.active[ObjectIdentifier(exchange)] = nil
            guard state.active.isEmpty else { return [] }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    private func queue(_ response: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
        guard response.hasValidHeaders, (200...599).contains(response.status) else {
            return queue(.text(500, "the answer cannot be sent\n"), on: connection)
        }
        let isBodiless = response.status == 204 || response.status == 304
        let body = isBodiless ? [] : response.body
        let made = body.withUnsafeBytes { bytes in
            // Copied by libmicrohttpd, which is why it may drop the const.
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY)
        }
        guard let made else { return .NO }
        defer { MHD_destroy_response(made) }
        for header in response.headers
        where MHD_add_response_header(made, header.name, header.value) != .YES {
            return .NO
        }
        return MHD_queue_response(connection, UInt32(response.status), made)
    }

    // MARK: Shutdown

    /// No request goes to a handler any more; those there are asked to end.
    func refuseAndCancel() {
        let active = state.withLock { state in
            state.isRefusing = true
            return Array(state.active.values)
        }
        for exchange in active { exchange.cancel() }
    }

    /// Answers for all handlers that have not.
    func abandon() {
        for exchange in state.withLock({ Array($0.active.values) }) {
            exchange.finish(shuttingDown)
        }
    }

    /// Returns when every request is done with, at the latest after the time given.
    func waitUntilIdle(atMostSeconds seconds: Double) async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timer = Task {
            try? await Task.sleep(for: .seconds(seconds))
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if !state.active.isEmpty { state.waiters[id] = continuation }
                return state.active.isEmpty
            }
            if isIdle { continuation.resume() }
        }
        timer.cancel()
    }
}

// MARK: - Reading a request out of libmicrohttpd

extension Core {
    private static func header(_ name: String, of connection: OpaquePointer) -> String? {
        MHD_lookup_connection_value(connection, .HEADER_KIND, name).map { String(cString: $0) }
    }

    /// The request without its body; nil when the path or the query cannot be decoded.
    private static func request(
        connection: OpaquePointer, method: String, path: String
    ) -> HTTPRequest? {
        guard let segments = PercentCoding.segments(of: path) else { return nil }
        var query: [(name: String, value: String)] = []
        for item in values(.GET_ARGUMENT_KIND, of: connection) {
            guard let name = PercentCoding.decode(item.name),
                let value = PercentCoding.decode(item.value)
            else { return nil }
            query.append((name, value))
        }
        let peer = PeerAddress.describe(dray_mhd_client_address(connection))
        return HTTPRequest(
            method: method, path: path, segments: segments, query: query,
            headers: values(.HEADER_KIND, of: connection), body: [],
            remoteAddress: peer.text, isLoopbackPeer: peer.isLoopback)
    }

    private static func values(
        _ kind: MHD_ValueKind, of connection: OpaquePointer
    ) -> [(name: String, value: String)] {
        var found: [(name: String, value: String)] = []
        withUnsafeMutablePointer(to: &found) { pointer in
            _ = MHD_get_connection_values(
                connection, kind,
                { context, _, name, value in
                    guard let context, let name else { return .YES }
                    let list = context.assumingMemoryBound(
                        to: [(name: String, value: String)].self)
                    list.pointee.append(
                        (String(cString: name), value.map { String(cString: $0) } ?? ""))
                    return .YES
                }, pointer)
        }
        return found
    }
}
