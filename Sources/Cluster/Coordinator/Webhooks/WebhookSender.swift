import Curl
import Digest
import JobQueue
import Model
import Transfer

/// Sends deliveries by HTTP. Safe from any task; `shutdown` must be called before it is released.
///
/// It follows no redirect, and connects only to addresses that its policy admits.
final class WebhookSender: Sendable {
    private typealias Requests = CurlRequests<Void, Webhooks.Attempt?>
    private let requests: Requests
    private let policy: AddressPolicy
    private let timeoutSeconds: Double

    /// - Parameter timeoutSeconds: maximum time of one delivery in all.
    init(policy: AddressPolicy, timeoutSeconds: Double = 10) throws(Failure) {
        self.policy = policy
        self.timeoutSeconds = timeoutSeconds
        do {
            requests = try Requests(name: "webhooks", context: (), ended: nil) {
                () throws(CurlError) in
                var options = CurlEasy.Options(userAgent: "dray/\(drayVersion)")
                options.bufferBytes = 16 << 10
                return try CurlEasy(options: options)
            }
        } catch {
            throw Failure(.workerInternal, "\(error)")
        }
    }

    /// Sends a delivery, also if the task is cancelled meanwhile. Returns nil if the sender was shut
    /// down before.
    func send(_ delivery: Webhooks.Leased) async -> Webhooks.Attempt? {
        let request = Requests.Request(
            { [policy, timeoutSeconds] _, easy, finish throws(CurlError) in
                try easy.setURL(delivery.url)
                try easy.setHeaders(try CurlHeaders(Self.headerLines(of: delivery)))
                try easy.setPost(Array(delivery.body.utf8))
                try easy.setConnectTimeout(milliseconds: Int(timeoutSeconds * 500))
                try easy.setTotalTimeout(milliseconds: Int(timeoutSeconds * 1_000))
                return WebhookPost(policy, finish)
            }, failed: { Webhooks.Attempt(failure: Failure(.inputURL, $0.description)) })
        return await requests.answer(to: request, endsWithTask: false)
    }

    /// Ends what is being sent, without a result, and joins the thread.
    func shutdown() { requests.shutdown() }

    /// The signature covers the time, so that a receiver can reject an old one.
    static func headerLines(of delivery: Webhooks.Leased) -> [String] {
        let signed = Array("\(delivery.now).\(delivery.body)".utf8)
        let signature = SHA256Digest(authenticating: signed, key: Array(delivery.secret.utf8))
        return [
            "Content-Type: application/json", "Expect:", "Dray-Delivery: \(delivery.id)",
            "Dray-Event: \(delivery.kind)", "Dray-Signature: t=\(delivery.now),v1=\(signature)",
        ]
    }
}

/// One delivery that is being sent; confined to the loop.
private final class WebhookPost: CurlEasyDelegate {
    private let policy: AddressPolicy
    private let finish: (Webhooks.Attempt?) -> Void
    private var rejection: Failure?
    private var receivedBytes = 0

    /// Maximum bytes of an answer, which is discarded; a longer one is aborted.
    private static let maximumBytes = 64 << 10

    init(_ policy: AddressPolicy, _ finish: @escaping (Webhooks.Attempt?) -> Void) {
        self.policy = policy
        self.finish = finish
    }

    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        receivedBytes += bytes.count
        return receivedBytes > Self.maximumBytes ? .abort : .proceed
    }

    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool {
        rejection = policy.rejection(of: address)
        return rejection == nil
    }

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        let isCutOff = receivedBytes > Self.maximumBytes
        guard code == .ok || isCutOff else {
            let detail = easy.errorDetail.isEmpty ? code.message : easy.errorDetail
            let failure = rejection ?? Failure(.originConnect, Redaction.message(detail))
            return finish(Webhooks.Attempt(failure: failure))
        }
        let status = easy.status
        var attempt = Webhooks.Attempt(status: status)
        switch status {
        case 200..<300: break
        case 300..<400:
            attempt.failure = Failure(
                .originRedirectRefused, "status \(status): webhooks follow no redirect")
        default:
            attempt.failure = Failure(.origin(httpStatus: status), "status \(status)")
            if [429, 503].contains(status) {
                attempt.retryAfterSeconds = RetryAfter.seconds(
                    easy.header("Retry-After"), date: easy.header("Date"))
            }
        }
        finish(attempt)
    }
}
