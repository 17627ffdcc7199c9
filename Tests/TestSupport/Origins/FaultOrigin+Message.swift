extension FaultOrigin {
    /// A request as the origin received it.
    package struct Request: Sendable {
        package let method: String
        /// With its query.
        package let target: String
        /// Lowercase names; of a repeated name the last.
        package let headers: [String: String]
        /// Number of requests for this target so far, with this one: 1 for the first.
        package let number: Int
        /// Arrival of the complete head on the monotonic clock, in seconds.
        package let receivedAt: Double

        /// The target without its query.
        package var path: String { String(target.prefix { $0 != "?" }) }

        /// Returns the single range of a Range header within `count` bytes; nil without one that
        /// fits.
        package func range(within count: Int) -> Range<Int>? {
            guard let header = headers["range"], header.hasPrefix("bytes=") else { return nil }
            let ends = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, let first = Int(ends[0]), first < count else { return nil }
            let last = ends[1].isEmpty ? count - 1 : Int(ends[1]) ?? -1
            guard last >= first else { return nil }
            return first..<min(last + 1, count)
        }

        /// Responds as a correct origin does: 200, 206 for a range, 416 for one beyond the end, 200
        /// for a range with another If-Range, and 304 for a matching validator.
        package func serve(
            _ body: [UInt8], etag: String? = nil, lastModified: String? = nil,
            type: String = "application/octet-stream"
        ) -> Response {
            var headers = [("Content-Type", type), ("Accept-Ranges", "bytes")]
            if let etag { headers.append(("ETag", etag)) }
            if let lastModified { headers.append(("Last-Modified", lastModified)) }
            let known = self.headers["if-none-match"] ?? self.headers["if-modified-since"]
            if let known, known == etag || known == lastModified {
                return Response(304, headers: headers)
            }
            let condition = self.headers["if-range"]
            let isCurrent = condition == nil || condition == etag || condition == lastModified
            guard self.headers["range"] != nil, isCurrent else {
                return Response(200, headers: headers, body: body)
            }
            guard let range = range(within: body.count) else {
                headers.append(("Content-Range", "bytes */\(body.count)"))
                return Response(416, headers: headers)
            }
            headers.append(
                ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)")
            )
            return Response(206, headers: headers, body: Array(body[range]))
        }
    }

    /// One action of the origin after the status line and headers.
    package enum Step: Sendable {
        case send([UInt8])
        /// Waits for the test.
        case wait(Gate)
        /// Repeats the bytes until the client disconnects.
        case sendForever([UInt8])
        /// Repeats the bytes with pauses: too slow, but never silent.
        case drip([UInt8], everySeconds: Double)
        /// Ends the connection with a TCP reset.
        case reset
        /// Closes the connection in order, whatever was promised.
        case close
        /// Kills the client's process, a child of this one, before anything further is sent.
        case killPeer
    }

    /// The origin's response: a fault is a response whose body contradicts its head.
    package struct Response: Sendable {
        package var status: Int
        /// Sent unchanged, after a Content-Length that is added if missing.
        package var headers: [(name: String, value: String)]
        package var steps: [Step]
        /// A gate to wait at before the status line is sent.
        package var gate: Gate?
        /// Time from the request to the status line; the client may hang up meanwhile.
        package var serviceSeconds = 0.0
        /// Sent instead of the status line and headers, for responses that are not HTTP.
        package var rawHead: [UInt8]?

        package init(
            _ status: Int = 200, headers: [(String, String)] = [], body: [UInt8] = []
        ) {
            self.status = status
            self.headers = headers.map { (name: $0.0, value: $0.1) }
            steps = body.isEmpty ? [] : [.send(body)]
        }

        package init(_ status: Int = 200, headers: [(String, String)] = [], text: String) {
            self.init(status, headers: headers, body: Array(text.utf8))
        }

        /// Bytes of all `send` steps.
        package var body: [UInt8] {
            steps.flatMap { (step) -> [UInt8] in
                if case .send(let bytes) = step { bytes } else { [] }
            }
        }

        /// Sets a header, replacing one of that name.
        package func with(_ name: String, _ value: String) -> Response {
            var copy = without(name)
            copy.headers.append((name, value))
            return copy
        }

        package func without(_ name: String) -> Response {
            var copy = self
            copy.headers.removeAll { $0.name.lowercased() == name.lowercased() }
            return copy
        }

        /// Promises the whole body, sends its first bytes and then does `step`.
        package func cut(after count: Int, then step: Step = .close) -> Response {
            let body = body
            var copy = contentLength == nil ? with("Content-Length", "\(body.count)") : self
            copy.steps = [.send(Array(body.prefix(count))), step]
            return copy
        }

        /// Sends the first bytes, waits for the test and sends the rest.
        package func held(after count: Int, at gate: Gate) -> Response {
            let body = body
            var copy = self
            copy.steps = [
                .send(Array(body.prefix(count))), .wait(gate), .send(Array(body.dropFirst(count))),
            ]
            return copy
        }

        /// Sends nothing for as long as the origin works on the answer.
        package func taking(seconds: Double) -> Response {
            var copy = self
            copy.serviceSeconds = seconds
            return copy
        }

        /// Sends nothing at all until the test opens the gate.
        package func held(at gate: Gate) -> Response {
            var copy = self
            copy.gate = gate
            return copy
        }

        /// Flips all bits of one byte of the body; everything else is unchanged.
        package func corrupted(at position: Int) -> Response {
            var body = body
            if body.indices.contains(position) { body[position] ^= 0xff }
            var copy = self
            copy.steps = [.send(body)]
            return copy
        }

        /// Returns a response with an endless body and without Content-Length.
        package static func endless(
            _ bytes: [UInt8] = [UInt8](repeating: 0, count: 65_536),
            headers: [(String, String)] = []
        ) -> Response {
            var response = Response(headers: headers + [("Connection", "close")])
            response.steps = [.sendForever(bytes)]
            return response
        }

        /// Sends `text` unchanged, executes `step` and closes the connection.
        package static func raw(_ text: String, then step: Step = .close) -> Response {
            var response = Response()
            response.rawHead = Array(text.utf8)
            response.steps = [step, .close]
            return response
        }

        package static func redirect(to location: String, status: Int = 302) -> Response {
            Response(status, headers: [("Location", location)])
        }

        /// Returns a web page with status 200, as from captive portals and soft 404s.
        package static func htmlPage() -> Response {
            Response(
                headers: [("Content-Type", "text/html; charset=utf-8")],
                text: "<!DOCTYPE html><html><body><h1>Not what you wanted</h1></body></html>")
        }

        /// Returns `body` with Content-Encoding gzip (stored blocks, RFC 1951 3.2.4).
        package static func gzipped(
            _ body: [UInt8], type: String = "application/octet-stream"
        ) -> Response {
            Response(
                headers: [("Content-Type", type), ("Content-Encoding", "gzip")],
                body: Gzip.stored(body))
        }

        /// Returns `body` with gzip as transfer coding (RFC 9112, 7.2): in chunks with the coding
        /// before or after them, or up to the connection's end.
        package static func transferGzipped(_ body: [UInt8], _ codings: String) -> Response {
            var bytes = Gzip.stored(body)
            if codings.contains("chunked") {
                bytes = Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes
                bytes += Array("\r\n0\r\n\r\n".utf8)
            }
            var response = Response(headers: [("Transfer-Encoding", codings)])
            response.steps = [.send(bytes), .close]
            return response
        }

        var contentLength: String? {
            headers.first { $0.name.lowercased() == "content-length" }?.value
        }

        /// True if the connection can carry another request after this response.
        var keepsConnection: Bool {
            let promised = contentLength.flatMap { Int($0) } ?? body.count
            let isOrderly = steps.allSatisfy { step in
                switch step {
                case .send, .wait: true
                case .sendForever, .drip, .reset, .close, .killPeer: false
                }
            }
            let closes = headers.contains {
                $0.name.lowercased() == "connection" && $0.value.lowercased() == "close"
            }
            return isOrderly && !closes && promised == body.count
        }

        /// Returns the status line and the headers.
        func head() -> [UInt8] {
            if let rawHead { return rawHead }
            var lines = ["HTTP/1.1 \(status) \(Self.reason(status))"]
            let isEndless = steps.contains { step in
                switch step {
                case .sendForever, .drip: true
                default: false
                }
            }
            let hasFraming = headers.contains {
                ["content-length", "transfer-encoding"].contains($0.name.lowercased())
            }
            if !isEndless && !hasFraming { lines.append("Content-Length: \(body.count)") }
            lines += headers.map { "\($0.name): \($0.value)" }
            return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        }

        private static func reason(_ status: Int) -> String {
            switch status {
            case 200: "OK"
            case 206: "Partial Content"
            case 302: "Found"
            case 404: "Not Found"
            case 416: "Range Not Satisfiable"
            case 429: "Too Many Requests"
            case 503: "Service Unavailable"
            default: "Status"
            }
        }
    }
}

/// The gzip format (RFC 1952) without compression.
private enum Gzip {
    static func stored(_ body: [UInt8]) -> [UInt8] {
        var output: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
        var start = 0
        repeat {
            let block = body[start..<min(start + 65_535, body.count)]
            start += block.count
            let length = UInt16(block.count)
            output.append(start == body.count ? 1 : 0)
            output += littleEndian(UInt32(length)).prefix(2)
            output += littleEndian(UInt32(~length)).prefix(2)
            output += block
        } while start < body.count
        return output + littleEndian(checksum(body))
            + littleEndian(UInt32(truncatingIfNeeded: body.count))
    }

    private static func littleEndian(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    /// CRC-32 (ISO 3309), bit by bit.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var checksum: UInt32 = 0xffff_ffff
        for byte in bytes {
            checksum ^= UInt32(byte)
            for _ in 0..<8 {
                checksum = checksum >> 1 ^ (checksum & 1 == 1 ? 0xedb8_8320 : 0)
            }
        }
        return ~checksum
    }
}
