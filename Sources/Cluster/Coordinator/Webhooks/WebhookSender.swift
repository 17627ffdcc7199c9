import Curl
import Digest
import EventLoop
import JobQueue
import Model
import Synchronization
import Transfer

/// Sends deliveries by HTTP. Safe from any task; `shutdown` must be called before it is released.
///
/// It follows no redirect, and connects only to addresses that its policy admits.
///
/// `@unchecked`: its variables are used on the loop's thread only, which `EventLoop` and `CurlMulti`
/// check.
final class WebhookSender: @unchecked Sendable {
    private let loop: EventLoop
    private let policy: AddressPolicy
    private let timeoutSeconds: Double
    private var multi: CurlMulti?
    private var active: Set<WebhookPost> = []
    private var isClosed = false

    /// - Parameter timeoutSeconds: maximum time of one delivery in all.
    init(policy: AddressPolicy, timeoutSeconds: Double = 10) throws(Failure) {
        self.policy = policy
        self.timeoutSeconds = timeoutSeconds
        do {
            try CurlGlobal.initialize()
            loop = try EventLoop(name: "webhooks")
        } catch {
            throw Failure(.workerInternal, "\(error)")
        }
    }

    /// Sends a delivery. Returns nil if the sender was shut down before.
    func send(_ delivery: Webhooks.Leased) async -> Webhooks.Attempt? {
        await withCheckedContinuation { continuation in
            let isQueued = loop.execute { [self] in
                start(delivery) { continuation.resume(returning: $0) }
            }
            if !isQueued { continuation.resume(returning: nil) }
        }
    }

    /// Ends what is being sent, without a result, and joins the thread.
    func shutdown() {
        loop.execute { [self] in
            isClosed = true
            for post in active {
                multi?.remove(post.easy)
                post.finish(nil)
            }
            multi?.close()
            multi = nil
        }
        loop.shutdown()
    }

    // MARK: On the loop

    private func start(
        _ delivery: Webhooks.Leased, _ completion: @escaping (Webhooks.Attempt?) -> Void
    ) {
        guard !isClosed else { return completion(nil) }
        var begun: WebhookPost?
        do throws(CurlError) {
            var options = CurlEasy.Options(userAgent: "dray/\(drayVersion)")
            options.bufferBytes = 16 << 10
            let easy = try CurlEasy(options: options)
            try easy.setURL(delivery.url)
            try easy.setHeaders(try CurlHeaders(Self.headerLines(of: delivery)))
            var refusal: CurlError?
            Array(delivery.body.utf8).withUnsafeBytes { bytes in
                do throws(CurlError) { try easy.setPost(bytes) } catch { refusal = error }
            }
            if let refusal { throw refusal }
            try easy.setConnectTimeout(milliseconds: Int(timeoutSeconds * 500))
            try easy.setTotalTimeout(milliseconds: Int(timeoutSeconds * 1_000))
            let post = WebhookPost(easy, policy, completion) { [unowned self] in active.remove($0) }
            easy.delegate = post
            active.insert(post)
            begun = post
            try multiHandle().add(easy)
        } catch {
            let failed = Webhooks.Attempt(failure: Failure(.inputURL, error.description))
            if let begun { begun.finish(failed) } else { completion(failed) }
        }
    }

    /// The signature covers the time, so that a receiver can refuse an old one.
    static func headerLines(of delivery: Webhooks.Leased) -> [String] {
        let signed = Array("\(delivery.now).\(delivery.body)".utf8)
        let signature = SHA256Digest(authenticating: signed, key: Array(delivery.secret.utf8))
        return [
            "Content-Type: application/json", "Expect:", "Dray-Delivery: \(delivery.id)",
            "Dray-Event: \(delivery.kind)", "Dray-Signature: t=\(delivery.now),v1=\(signature)",
        ]
    }

    private func multiHandle() throws(CurlError) -> CurlMulti {
        if let multi { return multi }
        let made = try CurlMulti(loop: loop, limits: CurlMulti.Limits())
        multi = made
        return made
    }
}

/// One delivery that is being sent; confined to the loop.
private final class WebhookPost: CurlEasyDelegate, Hashable {
    let easy: CurlEasy
    private let policy: AddressPolicy
    private let completion: (Webhooks.Attempt?) -> Void
    private let ended: (WebhookPost) -> Void
    private var refusal: Failure?
    private var receivedBytes = 0

    /// Maximum bytes of an answer, which is discarded; a longer one is aborted.
    private static let maximumBytes = 64 << 10

    init(
        _ easy: CurlEasy, _ policy: AddressPolicy,
        _ completion: @escaping (Webhooks.Attempt?) -> Void,
        ended: @escaping (WebhookPost) -> Void
    ) {
        self.easy = easy
        self.policy = policy
        self.completion = completion
        self.ended = ended
    }

    func finish(_ attempt: Webhooks.Attempt?) {
        easy.delegate = nil
        ended(self)
        completion(attempt)
    }

    func curl(_ easy: CurlEasy, received bytes: UnsafeRawBufferPointer) -> CurlEasy.Flow {
        receivedBytes += bytes.count
        return receivedBytes > Self.maximumBytes ? .abort : .proceed
    }

    func curl(_ easy: CurlEasy, admits address: PeerAddress) -> Bool {
        refusal = policy.refusal(of: address)
        return refusal == nil
    }

    func curl(_ easy: CurlEasy, finished code: CurlCode) {
        let isCutOff = receivedBytes > Self.maximumBytes
        guard code == .ok || isCutOff else {
            let detail = easy.errorDetail.isEmpty ? code.message : easy.errorDetail
            let failure = refusal ?? Failure(.originConnect, Redaction.message(detail))
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

    static func == (left: WebhookPost, right: WebhookPost) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
