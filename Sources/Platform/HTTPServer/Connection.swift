internal import EventLoop
internal import HTTP1

/// One connection: reads its requests one after the other, and writes their responses.
///
/// Confined to its server's loop. Every state has a deadline, but for `handling`, and `streaming`
/// while nothing waits to be sent.
final class Connection {
    enum State {
        /// Waits for a request's head; without any of it, the connection is idle. Can move to
        /// `body`, and to `writing` for a rejected request.
        case head
        /// Can move to `handling`, and to `writing` for a rejected request.
        case body(ArrivingBody)
        /// Can move to `writing`.
        case handling(Exchange)
        /// Can move to `head`, `lingering` and `streaming`.
        case writing(Exchange?)
        /// Sends a body in pieces; input is dropped. Can move to `lingering`.
        case streaming(HTTPStream)
        /// Everything is answered. Further input is dropped until the peer has closed its side:
        /// closing with unread bytes would reset the connection and lose the response.
        case lingering
        case closed
    }

    let id: Int
    var wire: Wire
    private var peer: Peer
    unowned let server: ServerLoop
    var state = State.head
    /// Nanoseconds; `expire` is called then.
    var deadline: UInt64
    private var input = Input()
    var output: [UInt8] = []
    var sentBytes = 0
    /// Start of the body's or the response's transfer.
    private var movingSince: UInt64 = 0
    var heldBytes = 0
    /// True once a request has authenticated its sender.
    private var isKnown = false
    var request = CurrentRequest()
    private var isProcessing = false
    /// True once the body of a stream has its end.
    var isLastChunkSent = false

    init(_ id: Int, _ wire: Wire, peer: Peer, of server: ServerLoop) {
        self.id = id
        self.wire = wire
        self.peer = peer
        self.server = server
        deadline = server.deadline(server.configuration.deadlines.headSeconds)
    }

    /// Starts to watch the socket; the first request has often arrived already.
    func start() {
        watch(for: .readable)
        receive()
    }

    /// Watches the socket. It fails only for lack of memory; a deadline then ends the connection.
    func watch(for interest: Interest) {
        if server.loop.isRegistered(wire.descriptor) {
            try? server.loop.modify(wire.descriptor, for: interest)
        } else {
            try? server.loop.register(wire.descriptor, for: interest) {
                [unowned self] _, readiness in
                ready(readiness)
            }
        }
    }

    // MARK: Reading

    private func ready(_ readiness: Readiness) {
        switch state {
        case .head, .body, .lingering: receive()
        case .writing: flush()
        case .streaming:
            receive()
            sendStream()
        case .handling:
            // Input waits; the handler itself may check for a disconnected peer.
            let isGone = !readiness.isDisjoint(with: [.hangUp, .error])
            if isGone { server.loop.deregister(wire.descriptor) } else { watch(for: []) }
        case .closed: break
        }
    }

    /// Reads available bytes, with a limit because others wait.
    func receive() {
        for _ in 0..<8 {
            switch wire.receive(into: server.scratch) {
            case .bytes(let count):
                take(UnsafeRawBufferPointer(rebasing: server.scratch[..<count]))
                switch state {
                case .head, .body, .streaming, .lingering:
                    if !wire.holdsInput, count < server.scratch.count { return }
                case .handling, .writing, .closed: return
                }
            case .again: continue
            case .blocked(let interest): return watch(for: interest)
            case .ended: return close()
            case .plainHTTP where isStreaming, .failed where isStreaming: return close()
            case .plainHTTP: return refuse(.notTLS)
            case .failed(let reason):
                server.configuration.handshakeFailed(peer.text, reason)
                return linger()
            }
        }
        if wire.holdsInput { server.resume(id) }
    }

    /// Takes the bytes that TLS has read from the socket before: no event will report them.
    func resume() {
        switch state {
        case .head, .body, .streaming: receive()
        case .handling, .writing, .lingering, .closed: break
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .head:
            // The first head's deadline began with the connection.
            if input.isEmpty { deadline = min(deadline, server.deadline(deadlines.headSeconds)) }
            input.append(bytes)
            process()
        case .body: takeBody(bytes)
        case .streaming, .lingering:
            input.drop(bytes.count)
            if input.droppedBytes > max(server.configuration.maximumBodyBytes, 1 << 20) { close() }
        case .handling, .writing, .closed: break
        }
    }

    /// Handles requests from `input`. Those answered at once do not recurse.
    private func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        while case .head = state, !input.isEmpty {
            do throws(HTTPServer.Rejection) {
                guard try takeHead() else { return }
            } catch {
                refuse(error)
            }
        }
    }

    /// Parses a head; returns false if more of it must arrive first.
    private func takeHead() throws(HTTPServer.Rejection) -> Bool {
        guard let (head, rest) = try input.takeHead() else { return false }
        try begin(head, followedBy: rest.count)
        if case .body = state {
            rest.withUnsafeBytes { takeBody($0) }
        } else if !request.closes {
            input.set(rest)
        }
        return true
    }

    /// Handles a complete head: identifies the sender and rejects requests before their bodies are
    /// stored.
    private func begin(
        _ head: RequestHead, followedBy count: Int
    ) throws(HTTPServer.Rejection) {
        self.request.isHead = head.method == "HEAD"
        self.request.isOld = head.isOld
        if peer.certificateSubject == nil { peer.certificateSubject = wire.peerSubject }
        self.request.id = head.id
        guard let request = HTTPRequest(head, from: peer) else { throw .malformedTarget }
        if !isKnown, server.configuration.knows(request) {
            isKnown = true
            server.table.know(id)
        } else {
            server.table.wake(id)
        }
        // Unknown senders get one request per connection.
        self.request.closes = !head.keepsConnection || !isKnown
        if let length = head.length, length > Int64(server.configuration.maximumBodyBytes) {
            throw .bodyTooLarge
        }
        let decision = server.configuration.admission(request)
        if head.expectsContinue, count == 0 {
            if case .refused(let rejection) = decision {
                self.request.closes = true
                return answer(rejection, nil)
            }
            sendContinue()
        }
        movingSince = server.now
        deadline = server.deadline(deadlines.transferSeconds)
        state = .body(ArrivingBody(request, head.body, decision))
    }

    /// Sends a few bytes to a peer that reads; another one gets none, as is allowed (RFC 9110,
    /// 10.1.1). So they are sent as a whole.
    private func sendContinue() {
        guard wire.isWritable else { return }
        let line = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
        _ = line.withUnsafeBytes { wire.send($0) }
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) {
        guard case .body(var body) = state else { return }
        // With a single reference, the body grows in place.
        state = .closed
        var rest = bytes
        do throws(HTTPServer.Rejection) {
            let progress = try body.take(&rest, server.bodies, &heldBytes)
            state = .body(body)
            switch progress {
            case .incomplete: return
            case .endless: close()
            case .complete:
                if !request.closes { input.set(Array(rest)) }
                state = .head
                hand(body)
                process()
            }
        } catch {
            state = .head
            refuse(error)
        }
    }

    // MARK: Answering

    private func hand(_ body: ArrivingBody) {
        switch body.abortReason {
        case .refused(let response): return answer(response, nil)
        case .tooLarge: return refuse(.bodyTooLarge)
        case .tooMuchAtOnce: return answer(server.configuration.rejection(.tooManyBodies), nil)
        case nil: break
        }
        let exchange = Exchange(id, descriptor: wire.descriptor, of: server)
        guard server.active.begin(exchange) else { return refuse(.shuttingDown) }
        state = .handling(exchange)
        deadline = .max
        let route = body.route
        var request = body.request
        request.body = body.bytes
        exchange.run(request, route)
    }

    /// Sends the handler's response.
    func handled(_ response: HTTPResponse) {
        guard case .handling(let exchange) = state else {
            response.stream?.close()
            return
        }
        exchange.detach()
        answer(response, exchange)
        process()
    }

    private func refuse(_ rejection: HTTPServer.Rejection) {
        request.closes = true
        answer(server.configuration.rejection(rejection), nil)
    }

    private func answer(_ response: HTTPResponse, _ exchange: Exchange?) {
        var response = response
        if !response.canBeSent {
            response.stream?.close()
            response = server.configuration.rejection(.unsendableAnswer)
        }
        if response.closesConnection || response.stream != nil || server.active.isRefusing {
            request.closes = true
        }
        output = response.bytes(
            date: server.date, closes: request.closes, isOld: request.isOld,
            isHead: request.isHead, requestID: request.id ?? RequestID.random())
        request.id = nil
        sentBytes = 0
        if let stream = response.stream {
            guard request.isHead else { return begin(stream, exchange) }
            stream.close()
        }
        state = .writing(exchange)
        movingSince = server.now
        deadline = server.deadline(deadlines.transferSeconds)
        flush()
    }

    private func flush() {
        guard case .writing(let exchange) = state else { return }
        while sentBytes < output.count {
            let sent = output.withUnsafeBytes { bytes in
                wire.send(UnsafeRawBufferPointer(rebasing: bytes[sentBytes...]))
            }
            switch sent {
            case .bytes(let count): sentBytes += count
            case .again: continue
            case .blocked(let interest): return watch(for: interest)
            case .ended, .plainHTTP, .failed: return close()
            }
        }
        output = []
        server.bodies.letGo(&heldBytes)
        if let exchange { server.active.end(exchange) }
        server.table.rest(id)
        watch(for: .readable)
        if request.closes {
            linger()
        } else {
            state = .head
            deadline = server.deadline(
                input.isEmpty ? deadlines.idleSeconds : deadlines.headSeconds)
            process()
            if wire.holdsInput { server.resume(id) }
        }
    }

    func linger() {
        input.removeAll()
        server.bodies.letGo(&heldBytes)
        state = .lingering
        deadline = server.deadline(deadlines.lingerSeconds)
        watch(for: .readable)
        wire.endSending()
    }

    // MARK: Ending

    /// Handles an expired deadline.
    func expire() {
        switch state {
        case .head where !input.isEmpty: refuse(.timedOut)
        case .body(let body):
            if !extend(body.receivedBytes) { refuse(.timedOut) }
        case .writing:
            if !extend(sentBytes) { close() }
        case .head, .streaming, .lingering: close()
        case .handling, .closed: break
        }
    }

    /// Extends the deadline of a fast enough transfer; returns true if it did.
    private func extend(_ bytes: Int) -> Bool {
        let seconds =
            deadlines.transferSeconds + Double(bytes) / Double(deadlines.minimumBytesPerSecond)
        deadline = movingSince + UInt64(seconds * 1e9)
        return deadline > server.now
    }

    /// Frees what a connection that waits does not need; called at each sweep.
    func rest() { wire.releaseIdleBuffers() }

    /// Closes the connection in any state; harmless if it is closed.
    func close() {
        switch state {
        case .closed: return
        case .handling(let exchange), .writing(.some(let exchange)):
            exchange.detach()
            server.active.end(exchange)
        case .streaming(let stream): stream.close()
        case .head, .body: wire.finish()
        case .writing(nil), .lingering: break
        }
        state = .closed
        server.bodies.letGo(&heldBytes)
        server.loop.deregister(wire.descriptor)
        wire.close()
        server.remove(self)
    }
}

/// The request that a connection handles, as far as its response depends on it.
struct CurrentRequest {
    /// Its identity; nil before its head is whole.
    var id: String?
    var isHead = false
    /// True for HTTP/1.0.
    var isOld = false
    /// True if its response is the last one of the connection.
    var closes = false
}
