import Curl
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
    private let state: Mutex<State>

    private struct State {
        /// Nil after the stop.
        var poster: MetricsPoster?
        /// True if the last request failed.
        var hasFailed = false
    }

    /// - Parameters:
    ///   - url: http or https.
    ///   - headers: further header lines, for authentication.
    ///
    /// Throws `worker.internal` if there are too few resources.
    package init(_ url: String, headers: [String], _ metrics: LoadMetrics) throws(Failure) {
        self.url = url
        self.headers = headers
        self.metrics = metrics
        state = Mutex(State(poster: try MetricsPoster(timeoutSeconds: Self.timeoutSeconds)))
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
        let poster = state.withLock { $0.poster.take() }
        poster?.shutdown()
    }

    private func send() async {
        guard let poster = state.withLock({ $0.poster }) else { return }
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let body = RemoteWrite.body(metrics.families(), milliseconds: now)
        let failure = await poster.post(url, RemoteWrite.headers + headers, body)
        let isNew = state.withLock { state in
            defer { state.hasFailed = failure != nil }
            return state.hasFailed != (failure != nil)
        }
        guard isNew else { return }
        Console.note(
            failure.map { "remote write to \(Redaction.shown(url)) failed: \(printable($0))" }
                ?? "remote write works again")
    }
}

/// Sends requests by HTTP POST. Follows no redirect. `shutdown` must be called before it is released.
private final class MetricsPoster: Sendable {
    private typealias Requests = CurlRequests<Void, String?>
    private let requests: Requests
    private let timeoutSeconds: Double

    init(timeoutSeconds: Double) throws(Failure) {
        self.timeoutSeconds = timeoutSeconds
        do {
            requests = try Requests(name: "remote write", context: (), ended: "it was stopped") {
                () throws(CurlError) in
                try CurlEasy(options: CurlEasy.Options(userAgent: "dray/\(drayVersion)"))
            }
        } catch {
            throw Failure(.workerInternal, "\(error)")
        }
    }

    /// Returns the reason why a body was not accepted; nil if it was. Continues if the task is
    /// cancelled meanwhile.
    func post(_ url: String, _ headers: [String], _ body: [UInt8]) async -> String? {
        let request = Requests.Request(
            { [timeoutSeconds] _, easy, finish throws(CurlError) in
                try easy.setURL(url)
                try easy.setHeaders(try CurlHeaders(headers + ["Expect:"]))
                try easy.setPost(body)
                try easy.setConnectTimeout(milliseconds: Int(timeoutSeconds * 500))
                try easy.setTotalTimeout(milliseconds: Int(timeoutSeconds * 1_000))
                return MetricsPost(finish)
            }, failed: { $0.description })
        return await requests.answer(to: request, endsWithTask: false)
    }

    func shutdown() { requests.shutdown() }
}

/// One request; confined to its loop.
private final class MetricsPost: CurlEasyDelegate {
    private let finish: (String?) -> Void
    private var answer: [UInt8] = []

    private static let maxAnswerBytes = 64 << 10
    /// Part of a rejection that is shown.
    private static let shownBytes = 300

    init(_ finish: @escaping (String?) -> Void) { self.finish = finish }

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
