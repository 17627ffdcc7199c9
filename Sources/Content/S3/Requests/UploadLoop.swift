internal import Curl
internal import FileSystem
package import Model
import Services

/// Sends requests to S3 servers: one thread, many connections.
package final class UploadLoop: Sendable {
    private typealias Requests = CurlRequests<Void, Result<HTTPAnswer, Failure>>
    private let requests: Requests

    /// - Parameter caFile: PEM file that replaces the system's authorities; nil for those.
    package init(maximumConnections: Int = 64, caFile: String? = nil) throws(Failure) {
        var options = CurlEasy.Options(userAgent: "dray")
        options.caFile = caFile
        options.keepsAlive = true
        var limits = CurlMulti.Limits()
        limits.totalConnections = maximumConnections
        do {
            requests = try Requests(
                name: "s3", limits: limits, context: (), ended: .failure(Self.cancelled)
            ) { [options] () throws(CurlError) in try CurlEasy(options: options) }
        } catch {
            throw Failure(.workerInternal, "\(error)")
        }
    }

    /// Performs a request; cancelling the task ends it with `worker.cancelled`. Throws
    /// `storage.unavailable` without an answer.
    func perform(_ call: HTTPCall) async throws(Failure) -> HTTPAnswer {
        let request = Requests.Request(
            { _, easy, finish throws(CurlError) in
                try Self.prepare(easy, for: call)
                return Exchange(call, finish)
            },
            failed: { .failure(Failure(.storageUnavailable, $0.description)) },
            stop: { call.isWanted() ? nil : .failure(Self.leaseLost) })
        return try await requests.answer(to: request).get()
    }

    /// Ends every request with `worker.cancelled` and joins the thread; on the thread itself, once it
    /// is done with what it does.
    package func shutdown() { requests.shutdown() }

    private static let cancelled = Failure(.workerCancelled, "the request was cancelled")
    private static let leaseLost = Failure(
        .workerLeaseLost, "the lease ended while an object was sent; it is not stored")

    private static func prepare(_ easy: CurlEasy, for call: HTTPCall) throws(CurlError) {
        try easy.setURL(call.url)
        // A type of a form, and a round trip before larger bodies, are libcurl's own defaults.
        try easy.setHeaders(try CurlHeaders(call.headers + ["Expect:"]))
        switch call.body {
        case nil: try easy.setRequest(call.method, borrowing: nil)
        case .memory(let bytes):
            try easy.setRequest(call.method, borrowing: UnsafeRawBufferPointer(bytes.buffer))
        case .file(_, _, let count):
            try easy.setRequest(call.method, providing: Int64(count))
        }
        try easy.setConnectTimeout(milliseconds: Int(call.connectTimeoutSeconds * 1000))
        try easy.setTotalTimeout(milliseconds: Int(call.timeoutSeconds * 1000))
    }
}

/// A running request; confined to the loop.
private final class Exchange: CurlEasyDelegate {
    private let call: HTTPCall
    private let finish: (Result<HTTPAnswer, Failure>) -> Void
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var isStopped = false
    private var isAdmitted = false
    private var readFailure: Failure?

    init(_ call: HTTPCall, _ finish: @escaping (Result<HTTPAnswer, Failure>) -> Void) {
        self.call = call
        self.finish = finish
    }

    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        if let sink = call.sink, (200..<300).contains(easy.status) {
            if !isAdmitted, let admits = call.admits {
                isStopped = !admits(easy.header("etag"))
                guard !isStopped else { return .abort }
                isAdmitted = true
            }
            isStopped = !sink(bytes)
            return isStopped ? .abort : .proceed
        }
        guard body.count + bytes.count <= call.maximumAnswerBytes else {
            isTooLarge = true
            return .abort
        }
        body.append(contentsOf: bytes)
        return .proceed
    }

    func curl(
        _ easy: CurlEasy, provides buffer: UnsafeMutableRawBufferPointer, from offset: Int64
    ) -> Int? {
        guard case .file(let file, let start, let count) = call.body else { return nil }
        let wanted = UnsafeMutableRawBufferPointer(
            rebasing: buffer.prefix(Int(min(Int64(buffer.count), Int64(count) - offset))))
        do throws(SystemError) {
            let read = try file.read(into: wanted, at: start + offset)
            if read > 0 { return read }
            readFailure = Failure(.storageIO, "a body in the spool is cut short")
        } catch {
            readFailure = Failure(.storageIO, "a body in the spool: \(error)")
        }
        return nil
    }

    /// Admits any address: the operator chose the endpoint's.
    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool { true }

    func curlMaySend(_ easy: CurlEasy) -> Bool { call.isWanted() }

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        guard code != .ok, !isStopped else {
            var headers: [String: String] = [:]
            for name in HTTPAnswer.names { headers[name] = easy.header(name) }
            return finish(
                .success(
                    HTTPAnswer(
                        status: easy.status, body: body, headers: headers,
                        dateSeconds: easy.dateSeconds)))
        }
        guard call.isWanted() else {
            return finish(
                .failure(Failure(.workerLeaseLost, "the lease ended while an object was sent")))
        }
        if let readFailure { return finish(.failure(readFailure)) }
        let reason =
            isTooLarge
            ? "an answer of more than \(call.maximumAnswerBytes) bytes"
            : easy.errorDetail.isEmpty ? code.message : easy.errorDetail
        let url = Redaction.shown(call.url, limit: 2_000)
        finish(.failure(Failure(.storageUnavailable, "\(url): \(reason)")))
    }
}
