internal import EventLoop
internal import Glibc
internal import HTTP1

/// One connection: reads its requests one after the other, and writes their answers.
///
/// Confined to its server's loop. Every state but `handling` has a deadline.
final class Connection {
    private enum State {
        /// A request's head is awaited; without any of it, the connection is idle. Can move to
        /// `body`, and to `writing` for what is refused.
        case head
        /// Can move to `handling`, and to `writing` for what is refused.
        case body(ArrivingBody)
        /// Can move to `writing`.
        case handling(Exchange)
        /// Can move to `head` and `lingering`.
        case writing(Exchange?)
        /// Everything is answered; what the peer still sends is dropped until it has closed its
        /// side: closed with bytes unread, the connection would be reset and the answer lost with
        /// it.
        case lingering
        case closed
    }

    let id: Int
    private let descriptor: Int32
    private let peer: Peer
    private unowned let server: ServerLoop
    private var state = State.head
    /// Nanoseconds; when `expire` is called.
    private(set) var deadline: UInt64
    /// What has come of requests and is not used yet.
    private var input: [UInt8] = []
    /// Of `input`, what was searched for the end of a head.
    private var searchedBytes = 0
    private var output: [UInt8] = []
    private var sentBytes = 0
    /// When the body or the answer began to move.
    private var movingSince: UInt64 = 0
    private var heldBytes = 0
    private var lingeringBytes = 0
    /// A request has shown that its sender is known.
    private var isKnown = false
    /// The answer that comes is the last one.
    private var closes = false
    private var isHead = false
    private var isOld = false
    private var isProcessing = false

    init(_ id: Int, descriptor: Int32, peer: Peer, of server: ServerLoop) {
        self.id = id
        self.descriptor = descriptor
        self.peer = peer
        self.server = server
        deadline = server.deadline(server.configuration.deadlines.headSeconds)
    }

    private var deadlines: HTTPServer.Deadlines { server.configuration.deadlines }

    /// Begins to watch it; the first request has often come already.
    func start() {
        watch(for: .readable)
        receive()
    }

    /// What keeps the kernel from watching is a lack of memory: a deadline ends what is not heard
    /// of then.
    private func watch(for interest: Interest) {
        if server.loop.isRegistered(descriptor) {
            try? server.loop.modify(descriptor, for: interest)
        } else {
            try? server.loop.register(descriptor, for: interest) { [unowned self] _, readiness in
                ready(readiness)
            }
        }
    }

    // MARK: Reading

    private func ready(_ readiness: Readiness) {
        switch state {
        case .head, .body, .lingering: receive()
        case .writing: flush()
        case .handling:
            // What comes waits, and whether the peer has gone the handler may ask for itself.
            let isGone = !readiness.isDisjoint(with: [.hangUp, .error])
            if isGone { server.loop.deregister(descriptor) } else { watch(for: []) }
        case .closed: break
        }
    }

    /// Reads what has come; not for ever, because others wait.
    func receive() {
        for _ in 0..<8 {
            let count = recv(
                descriptor, server.scratch.baseAddress, server.scratch.count, 0)
            guard count > 0 else {
                if count < 0, errno == EINTR { continue }
                if count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) { close() }
                return
            }
            take(UnsafeRawBufferPointer(rebasing: server.scratch[..<count]))
            switch state {
            case .head, .body, .lingering: if count < server.scratch.count { return }
            case .handling, .writing, .closed: return
            }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .head:
            // The first one's time began with the connection.
            if input.isEmpty { deadline = min(deadline, server.deadline(deadlines.headSeconds)) }
            input.append(contentsOf: bytes)
            process()
        case .body: takeBody(bytes)
        case .lingering:
            lingeringBytes += bytes.count
            if lingeringBytes > max(server.configuration.maximumBodyBytes, 1 << 20) { close() }
        case .handling, .writing, .closed: break
        }
    }

    /// Takes requests from `input`. Those that are answered at once do not nest.
    private func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        while case .head = state, !input.isEmpty {
            do throws(HTTPServer.Refusal) {
                guard try takeHead() else { return }
            } catch {
                refuse(error)
            }
        }
    }

    /// False when more of the head must come first.
    private func takeHead() throws(HTTPServer.Refusal) -> Bool {
        // Some clients end a body with a line end that is not part of it (RFC 9112, 2.2).
        let blanks = input.prefix { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }.count
        if blanks > 0 {
            input.removeFirst(blanks)
            searchedBytes = 0
            return !input.isEmpty
        }
        let (length, head) = try input.withUnsafeBufferPointer {
            buffer throws(HTTPServer.Refusal) -> (Int, RequestHead?) in
            let bytes = UnsafeRawBufferPointer(buffer)
            guard let length = try RequestHead.length(in: bytes, from: searchedBytes) else {
                return (bytes.count, nil)
            }
            let head = UnsafeRawBufferPointer(rebasing: bytes[..<length])
            return (length, try RequestHead(head))
        }
        guard let head else {
            searchedBytes = length
            return false
        }
        let rest = Array(input[length...])
        input = []
        searchedBytes = 0
        try begin(head, followedBy: rest.count)
        if case .body = state {
            rest.withUnsafeBytes { takeBody($0) }
        } else if !closes {
            input = rest
        }
        return true
    }

    /// The head is there: who asks is known now, and what gets no further is not kept.
    private func begin(
        _ head: RequestHead, followedBy count: Int
    ) throws(HTTPServer.Refusal) {
        isHead = head.method == "HEAD"
        isOld = head.isOld
        guard let request = HTTPRequest(head, from: peer) else { throw .malformedTarget }
        if !isKnown, server.configuration.knows(request) {
            isKnown = true
            server.table.know(id)
        } else {
            server.table.wake(id)
        }
        // Who is not known has one request for each connection.
        closes = !head.keepsConnection || !isKnown
        if let length = head.length, length > Int64(server.configuration.maximumBodyBytes) {
            throw .bodyTooLarge
        }
        let decision = server.configuration.admission(request)
        if head.expectsContinue, count == 0 {
            if case .refused(let refusal) = decision {
                closes = true
                return answer(refusal, nil)
            }
            sendContinue()
        }
        movingSince = server.now
        deadline = server.deadline(deadlines.transferSeconds)
        state = .body(ArrivingBody(request, head.body, decision))
    }

    /// Some bytes to a socket that has taken all before: where they do not fit, nobody reads.
    private func sendContinue() {
        let line = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
        _ = send(descriptor, line, line.count, Int32(MSG_NOSIGNAL))
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) {
        guard case .body(var body) = state else { return }
        // Held once, so that it grows in place.
        state = .closed
        var rest = bytes
        do throws(HTTPServer.Refusal) {
            let progress = try body.take(&rest, server.bodies, &heldBytes)
            state = .body(body)
            switch progress {
            case .incomplete: return
            case .endless: close()
            case .complete:
                if !closes { input = Array(rest) }
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
        switch body.obstacle {
        case .refused(let response): return answer(response, nil)
        case .tooLarge: return refuse(.bodyTooLarge)
        case .tooMuchAtOnce: return answer(server.configuration.refusal(.tooManyBodies), nil)
        case nil: break
        }
        let exchange = Exchange(id, descriptor: descriptor, of: server)
        guard server.active.begin(exchange) else { return refuse(.shuttingDown) }
        state = .handling(exchange)
        deadline = .max
        let route = body.route
        var request = body.request
        request.body = body.bytes
        exchange.run(request, route)
    }

    /// What the handler has come to.
    func handled(_ response: HTTPResponse) {
        guard case .handling(let exchange) = state else { return }
        exchange.detach()
        answer(response, exchange)
        process()
    }

    private func refuse(_ refusal: HTTPServer.Refusal) {
        closes = true
        answer(server.configuration.refusal(refusal), nil)
    }

    private func answer(_ response: HTTPResponse, _ exchange: Exchange?) {
        var response = response
        if !response.canBeSent { response = server.configuration.refusal(.unsendableAnswer) }
        closes = closes || response.closesConnection || server.active.isRefusing
        output = response.bytes(
            date: server.date, closes: closes, isOld: isOld, isHead: isHead)
        sentBytes = 0
        state = .writing(exchange)
        movingSince = server.now
        deadline = server.deadline(deadlines.transferSeconds)
        flush()
    }

    private func flush() {
        guard case .writing(let exchange) = state else { return }
        while sentBytes < output.count {
            let count = output.withUnsafeBytes { bytes in
                send(
                    descriptor, bytes.baseAddress.map { $0 + sentBytes }, bytes.count - sentBytes,
                    Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                sentBytes += count
            } else if errno == EAGAIN || errno == EWOULDBLOCK {
                watch(for: .writable)
                return
            } else if errno != EINTR {
                return close()
            }
        }
        output = []
        server.bodies.letGo(&heldBytes)
        if let exchange { server.active.end(exchange) }
        server.table.rest(id)
        watch(for: .readable)
        if closes {
            linger()
        } else {
            state = .head
            deadline = server.deadline(
                input.isEmpty ? deadlines.idleSeconds : deadlines.headSeconds)
            process()
        }
    }

    private func linger() {
        input = []
        state = .lingering
        deadline = server.deadline(deadlines.lingerSeconds)
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    // MARK: Ending

    /// The deadline is over.
    func expire() {
        switch state {
        case .head where !input.isEmpty: refuse(.timedOut)
        case .body(let body):
            if !extend(body.receivedBytes) { refuse(.timedOut) }
        case .writing:
            if !extend(sentBytes) { close() }
        case .head, .lingering: close()
        case .handling, .closed: break
        }
    }

    /// What moves fast enough has more time; true when that is so.
    private func extend(_ bytes: Int) -> Bool {
        let seconds =
            deadlines.transferSeconds + Double(bytes) / Double(deadlines.minimumBytesPerSecond)
        deadline = movingSince + UInt64(seconds * 1e9)
        return deadline > server.now
    }

    /// Closes it in whatever state it is; harmless when it is closed.
    func close() {
        switch state {
        case .closed: return
        case .handling(let exchange), .writing(.some(let exchange)):
            exchange.detach()
            server.active.end(exchange)
        case .head, .body, .writing(nil), .lingering: break
        }
        state = .closed
        server.bodies.letGo(&heldBytes)
        server.loop.deregister(descriptor)
        _ = Glibc.close(descriptor)
        server.remove(self)
    }
}
