internal import EventLoop
internal import HTTP1
internal import Model
internal import Transfer

/// Receives responses.
extension HTTP1Transport {
    /// Maximum number of reads from one socket before others are served.
    private static let maxReads = 16
    /// Maximum number of bytes discarded at a time. It bounds how far a byte cap is exceeded.
    private static let maxDiscarded: Int64 = 256 << 10
    /// Bytes read at first and between chunks; bytes of the body among them are copied although
    /// they are discarded.
    private static let headBytes = 4 << 10
    /// Maximum number of bytes of all heads of a response.
    private static let maxHeadBytes = 64 << 10

    func receive(_ connection: HTTP1Connection) {
        for _ in 0..<Self.maxReads {
            guard let request = connection.request else { return }
            if let wait = request.link?.waitSeconds(request.nowSeconds), wait > 0 {
                return pause(connection, seconds: wait)
            }
            let most = request.link?.quantumBytes ?? .max
            let plain = connection.answer.body?.plainBytes ?? 0
            let dropped = min(Int(min(plain, Self.maxDiscarded)), most)
            let wanted: Int
            let received: HTTP1Socket.Received
            if plain > 0, !request.checksBody {
                // One byte more than the length shows a body that is too long.
                let isLast = connection.answer.body?.isOfLength == true && plain == Int64(dropped)
                wanted = dropped + (isLast ? 1 : 0)
                received = HTTP1Socket.discard(wanted, from: connection.socket)
            } else {
                wanted = min(request.checksBody ? input.count : Self.headBytes, most)
                received = HTTP1Socket.receive(
                    UnsafeMutableRawBufferPointer(rebasing: input[..<wanted]),
                    from: connection.socket)
            }
            switch received {
            case .bytes(let count):
                request.link?.take(count, atSeconds: request.nowSeconds)
                if plain > 0, !request.checksBody {
                    let data = min(count, dropped)
                    guard request.receives(data) else { return end(connection, .cutOff) }
                    connection.answer.body?.skip(data)
                    if connection.answer.body?.isDone == true {
                        return isWhole(connection, rest: count - data)
                    }
                } else {
                    take(UnsafeRawBufferPointer(rebasing: input[..<count]), connection, request)
                }
                // The socket is empty, as a rule.
                if count < wanted { return }
            case .end: return isClosed(connection)
            case .nothingYet: return
            case .failed: return lost(connection)
            }
        }
    }

    /// Leaves the rest of a response to the kernel until the viewer's link is free; the window of
    /// TCP then slows the server.
    private func pause(_ connection: HTTP1Connection, seconds: Double) {
        loop.loop.deregister(connection.socket)
        if connection.linkTimer == nil {
            connection.linkTimer = loop.loop.makeTimer { [unowned self, unowned connection] in
                guard connection.state == .receiving else { return }
                watch(connection, for: .readable)
                receive(connection)
            }
        }
        connection.linkTimer?.schedule(afterSeconds: seconds)
    }

    private func isClosed(_ connection: HTTP1Connection) {
        guard connection.answer.hasBegun else { return lost(connection) }
        if connection.answer.body?.endsByClose == true {
            end(connection, .answered)
        } else {
            end(connection, .failed(.originTruncated))
        }
    }

    private func isWhole(_ connection: HTTP1Connection, rest: Int) {
        // Unrequested bytes would be read as the next response.
        end(connection, .answered, keeps: connection.answer.keepsConnection && rest == 0)
    }

    // MARK: Parsing

    private func take(
        _ bytes: UnsafeRawBufferPointer, _ connection: HTTP1Connection, _ request: LoadRequest
    ) {
        connection.answer.hasBegun = true
        request.beginsAnswer()
        do throws(MalformedResponse) {
            guard connection.answer.body == nil else {
                return try takeBody(bytes, connection, request)
            }
            guard !connection.answer.head.isEmpty else {
                return try takeHead(bytes, searched: 0, connection, request)
            }
            let searched = connection.answer.head.count
            var head: [UInt8] = []
            swap(&head, &connection.answer.head)
            head.append(contentsOf: bytes)
            let result = head.withUnsafeBytes { head in
                Result { () throws(MalformedResponse) in
                    try takeHead(head, searched: searched, connection, request)
                }
            }
            try result.get()
        } catch {
            end(
                connection,
                .failed(error == .unknownCoding ? .originEncoding : .originProtocol))
        }
    }

    /// Reads all complete heads, and the body after them.
    private func takeHead(
        _ bytes: UnsafeRawBufferPointer, searched: Int, _ connection: HTTP1Connection,
        _ request: LoadRequest
    ) throws(MalformedResponse) {
        var (rest, searched) = (bytes, searched)
        while !rest.isEmpty {
            guard ResponseHead.mayBegin(rest) else { throw .malformed }
            guard let length = ResponseHead.length(in: rest, from: searched) else {
                guard connection.answer.headBytes + rest.count <= Self.maxHeadBytes else {
                    throw .malformed
                }
                connection.answer.head = Array(rest)
                return
            }
            searched = 0
            connection.answer.headBytes += length
            guard connection.answer.headBytes <= Self.maxHeadBytes else { throw .malformed }
            let block = UnsafeRawBufferPointer(rebasing: rest[..<length])
            let head = try ResponseHead(block)
            rest = UnsafeRawBufferPointer(rebasing: rest[length...])
            guard !head.isInterim else { continue }
            request.response.status = head.status
            request.response.cache = caches.finding(in: block)
            if request.isRedirect {
                request.response.location = HeadField.value("location", in: block)
            }
            if head.status == 429 {
                request.response.retryAfterSeconds = RetryAfter.seconds(
                    HeadField.value("retry-after", in: block),
                    date: HeadField.value("date", in: block))
            }
            connection.answer.keepsConnection = head.keepsConnection
            connection.answer.body = head.body
            return try takeBody(rest, connection, request)
        }
    }

    private func takeBody(
        _ bytes: UnsafeRawBufferPointer, _ connection: HTTP1Connection, _ request: LoadRequest
    ) throws(MalformedResponse) {
        guard var body = connection.answer.body else { return }
        var rest = bytes
        while !rest.isEmpty, !body.isDone {
            let data = try body.next(&rest)
            guard data.isEmpty || request.receives(data) else { return end(connection, .cutOff) }
        }
        connection.answer.body = body
        if body.isDone { isWhole(connection, rest: rest.count) }
    }
}
