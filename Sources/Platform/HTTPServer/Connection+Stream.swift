internal import EventLoop

/// A response whose body comes in pieces.
extension Connection {
    var deadlines: HTTPServer.Deadlines { server.configuration.deadlines }

    /// Sends the head of a response, and what its stream has from now on.
    func begin(_ stream: HTTPStream, _ exchange: Exchange?) {
        // A shutdown does not wait for it.
        if let exchange { server.active.end(exchange) }
        server.bodies.letGo(&heldBytes)
        state = .streaming(stream)
        deadline = .max
        stream.attach(id, server)
        if server.active.isRefusing { stream.end() }
        watch(for: .readable)
        sendStream()
    }

    /// Sends what the stream has. A peer that reads nothing for the time of a transfer is closed,
    /// whatever it sends.
    func sendStream() {
        guard case .streaming(let stream) = state else { return }
        var hasSent = false
        while true {
            if sentBytes == output.count, !fill(from: stream) {
                deadline = .max
                return watch(for: .readable)
            }
            guard case .streaming = state else { return }
            let sent = output.withUnsafeBytes { bytes in
                wire.send(UnsafeRawBufferPointer(rebasing: bytes[sentBytes...]))
            }
            switch sent {
            case .bytes(let count):
                sentBytes += count
                hasSent = hasSent || count > 0
            case .again: continue
            case .blocked(let interest):
                let latest = server.deadline(deadlines.transferSeconds)
                // The last bytes have one deadline in all; and so has a peer that takes none.
                let isExtended = hasSent && !stream.isEnded
                deadline = isExtended ? latest : min(deadline, latest)
                return watch(for: interest.union(.readable))
            case .ended, .plainHTTP, .failed: return close()
            }
        }
    }

    /// Takes the stream's next bytes; returns false if there are none now. At its end, closes it.
    private func fill(from stream: HTTPStream) -> Bool {
        output = []
        sentBytes = 0
        let isEnded = stream.isEnded
        if let bytes = stream.take() {
            if request.isOld {
                output = bytes
            } else {
                HTTPResponse.append(bytes, asChunkTo: &output)
            }
            return true
        }
        guard isEnded else { return false }
        stream.close()
        if request.isOld || isLastChunkSent {
            server.table.rest(id)
            linger()
        } else {
            isLastChunkSent = true
            output = HTTPResponse.lastChunk
        }
        return true
    }

    var isStreaming: Bool {
        if case .streaming = state { true } else { false }
    }

    /// Ends its stream, if it has one.
    func endStream() {
        guard case .streaming(let stream) = state else { return }
        stream.end()
        // Now: the connection may be closed next.
        sendStream()
    }
}
