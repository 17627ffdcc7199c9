import Curl
import EventLoop
import Foundation
import Metrics
package import Model
import Services
import Synchronization
import Text

/// Sends the metrics of a load test to Prometheus's remote write, every few seconds and at the end.
///
/// A failure is a note and not the end of the test: the next request has the same sums. It is a
/// service beside the test.
package final class LoadRemoteWriter: Service {
    package let name = "remote write"
    private static let intervalSeconds = 5.0
    private static let timeoutSeconds = 10.0

    private let url: String
    private let headers: [String]
    private let metrics: LoadMetrics
    private let poster: Mutex<MetricsPoster?>
    private let failed = Mutex(false)

    /// - Parameters:
    ///   - url: http or https.
    ///   - headers: further header lines, for authentication.
    ///
    /// Throws `worker.internal` if there are too few resources.
    package init(_ url: String, headers: [String], _ metrics: LoadMetrics) throws(Failure) {
        self.url = url
        self.headers = headers
        self.metrics = metrics
        poster = Mutex(try MetricsPoster(timeoutSeconds: Self.timeoutSeconds))
    }

    package func start() async throws {}

    package func run() async throws {
        while true {
            try await Task.sleep(for: .seconds(Self.intervalSeconds))
            await send()
        }
    }

    /// Sends the last state.
    package func stop() async {
        await send()
        let poster = poster.withLock { poster -> MetricsPoster? in
            defer { poster = nil }
            return poster
        }
        poster?.shutdown()
    }

    private func send() async {
        guard let poster = poster.withLock(\.self) else { return }
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let body = RemoteWrite.body(metrics.families(), milliseconds: now)
        let failure = await poster.post(url, RemoteWrite.headers + headers, body)
        let isNew = failed.withLock { failed in
            defer { failed = failure != nil }
            return failed != (failure != nil)
        }
        guard isNew else { return }
        Console.note(
            failure.map { "remote write to \(Redaction.shown(url)) failed: \(printable($0))" }
                ?? "remote write works again")
    }
}

/// Sends requests by HTTP POST, one at a time. Follows no redirect. `shutdown` must be called before
/// it is released.
///
/// `@unchecked`: its variables are used on the loop's thread only, which `EventLoop` and `CurlMulti`
/// check.
private final class MetricsPoster: @unchecked Sendable {
    private let loop: EventLoop
    private let timeoutSeconds: Double
    private var multi: CurlMulti?
    private var post: MetricsPost?

    init(timeoutSeconds: Double) throws(Failure) {
        self.timeoutSeconds = timeoutSeconds
        do {
            try CurlGlobal.initialize()
            loop = try EventLoop(name: "remote write")
        } catch {
            throw Failure(.workerInternal, "\(error)")
        }
    }

    /// Returns the reason why a body was not accepted; nil if it was.
    func post(_ url: String, _ headers: [String], _ body: [UInt8]) async -> String? {
        await withCheckedContinuation { continuation in
            let isQueued = loop.execute { [self] in
                start(url, headers, body) { continuation.resume(returning: $0) }
            }
            if !isQueued { continuation.resume(returning: "it was stopped") }
        }
    }

    func shutdown() {
        loop.execute { [self] in
            if let post {
                multi?.remove(post.easy)
                post.finish("it was stopped")
            }
            multi?.close()
            multi = nil
        }
        loop.shutdown()
    }

    private func start(
        _ url: String, _ headers: [String], _ body: [UInt8],
        _ completion: @escaping (String?) -> Void
    ) {
        do throws(CurlError) {
            let easy = try CurlEasy(options: CurlEasy.Options(userAgent: "dray/\(drayVersion)"))
            try easy.setURL(url)
            try easy.setHeaders(try CurlHeaders(headers + ["Expect:"]))
            var refusal: CurlError?
            body.withUnsafeBytes { bytes in
                do throws(CurlError) { try easy.setPost(bytes) } catch { refusal = error }
            }
            if let refusal { throw refusal }
            try easy.setConnectTimeout(milliseconds: Int(timeoutSeconds * 500))
            try easy.setTotalTimeout(milliseconds: Int(timeoutSeconds * 1_000))
            let post = MetricsPost(easy) { [unowned self] failure in
                self.post = nil
                completion(failure)
            }
            easy.delegate = post
            self.post = post
            try multiHandle().add(easy)
        } catch {
            if let post { post.finish(error.description) } else { completion(error.description) }
        }
    }

    private func multiHandle() throws(CurlError) -> CurlMulti {
        if let multi { return multi }
        let made = try CurlMulti(loop: loop, limits: CurlMulti.Limits())
        multi = made
        return made
    }
}

/// One request; confined to its loop.
private final class MetricsPost: CurlEasyDelegate {
    let easy: CurlEasy
    private let completion: (String?) -> Void
    private var answer: [UInt8] = []

    private static let maxAnswerBytes = 64 << 10
    /// Part of a refusal that is shown.
    private static let shownBytes = 300

    init(_ easy: CurlEasy, _ completion: @escaping (String?) -> Void) {
        self.easy = easy
        self.completion = completion
    }

    func finish(_ failure: String?) {
        easy.delegate = nil
        completion(failure)
    }

    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        answer += bytes
        return answer.count > Self.maxAnswerBytes ? .abort : .proceed
    }

    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool { true }

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        guard code == .ok else {
            let detail = easy.errorDetail.isEmpty ? code.message : easy.errorDetail
            return finish(Redaction.message(detail))
        }
        guard !(200..<300).contains(easy.status) else { return finish(nil) }
        let text = String(decoding: answer.prefix(Self.shownBytes), as: UTF8.self)
        finish("status \(easy.status)\(text.isEmpty ? "" : ": \(Redaction.message(text))")")
    }
}
