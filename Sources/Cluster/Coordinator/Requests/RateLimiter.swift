import HTTPServer
import JobQueue
import Model
import Synchronization

/// The number of requests of one sender that a coordinator answers.
package struct RequestRate: Sendable, Equatable {
    /// Requests per second, from 1.
    package var perSecond: Int
    /// Number of requests that a sender may send at once after a pause.
    package var burst: Int { perSecond * 5 }

    package init(perSecond: Int) {
        precondition(perSecond > 0)
        self.perSecond = perSecond
    }

    /// Default for a token. One client that waits for each answer stays below it.
    package static let ofToken = RequestRate(perSecond: 1_000)
    /// Default for an address without a valid token: health checks, and attempts at a token.
    package static let ofAddress = RequestRate(perSecond: 20)
}

/// Limits of requests; nil for none.
package struct RequestRates: Sendable, Equatable {
    /// Rate of each token, over all its connections; routes of workers do not count.
    package var token: RequestRate?
    /// Rate of each address without a valid token; an address is an IPv6 network of 64 bits, and this
    /// machine's own senders, which cannot be distinguished, have no limit.
    package var address: RequestRate?

    package init(
        token: RequestRate? = .ofToken, address: RequestRate? = .ofAddress
    ) {
        self.token = token
        self.address = address
    }
}

/// Token buckets of a bounded number of senders.
struct RequestBuckets<Sender: Hashable> {
    typealias Instant = ContinuousClock.Instant

    private struct Bucket {
        var requests: Double
        var at: Instant
    }

    let rate: RequestRate
    /// Maximum of senders with a bucket of their own.
    let maxSenders: Int
    private var buckets: [Sender: Bucket] = [:]
    /// The bucket of all others.
    private var others: Bucket?
    private var swept: Instant?

    init(_ rate: RequestRate, maxSenders: Int) {
        self.rate = rate
        self.maxSenders = maxSenders
    }

    var count: Int { buckets.count }

    /// Takes one request of a sender; returns false if it has sent too many.
    mutating func take(_ sender: Sender, now: Instant) -> Bool {
        if buckets[sender] == nil, buckets.count >= maxSenders { sweep(now) }
        guard buckets[sender] != nil || buckets.count < maxSenders else {
            return Self.take(from: &others, rate, now)
        }
        return Self.take(from: &buckets[sender], rate, now)
    }

    private static func take(
        from bucket: inout Bucket?, _ rate: RequestRate, _ now: Instant
    ) -> Bool {
        var requests = bucket.map { refilled($0, rate, now) } ?? Double(rate.burst)
        let isAllowed = requests >= 1
        if isAllowed { requests -= 1 }
        bucket = Bucket(requests: requests, at: now)
        return isAllowed
    }

    private static func refilled(_ bucket: Bucket, _ rate: RequestRate, _ now: Instant) -> Double {
        let seconds = max(bucket.at.duration(to: now) / .seconds(1), 0)
        return min(bucket.requests + seconds * Double(rate.perSecond), Double(rate.burst))
    }

    /// Forgets full buckets: a new one is the same. At most once per second, because it looks at
    /// all.
    private mutating func sweep(_ now: Instant) {
        if let swept, swept.duration(to: now) < .seconds(1) { return }
        swept = now
        let rate = rate
        buckets = buckets.filter { Self.refilled($0.value, rate, now) < Double(rate.burst) }
    }
}

/// The limit of one kind of senders. Safe from any thread.
private struct SenderLimit<Sender: Hashable & Sendable>: ~Copyable, Sendable {
    /// Nil without a limit.
    private let buckets: Mutex<RequestBuckets<Sender>?>

    init(_ rate: RequestRate?, maxSenders: Int) {
        buckets = Mutex(rate.map { RequestBuckets($0, maxSenders: maxSenders) })
    }

    /// Counts a request. Returns the requests per second that its sender has exceeded, if any.
    func exceeded(by sender: Sender, _ now: () -> ContinuousClock.Instant) -> Int? {
        buckets.withLock { buckets in
            guard buckets?.take(sender, now: now()) == false else { return nil }
            return buckets?.rate.perSecond
        }
    }
}

/// Limits the rate of requests per sender. Safe from any thread.
final class RateLimiter: Sendable {
    private let tokens: SenderLimit<AccessTokenID?>
    private let addresses: SenderLimit<String>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Maximum of addresses with a limit of their own.
    static let maxAddresses = 10_000

    init(
        _ rates: RequestRates, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.now = now
        // The environment's token besides the issued ones.
        tokens = SenderLimit(rates.token, maxSenders: AccessTokens.maxTokens + 1)
        addresses = SenderLimit(rates.address, maxSenders: Self.maxAddresses)
    }

    /// Counts a request with a valid token. Throws `cluster.rateLimited`.
    func admit(_ caller: Caller) throws(Failure) {
        if let most = tokens.exceeded(by: caller.id, now) {
            throw Self.rejection("The token \(caller.name) is", most)
        }
    }

    /// Counts a request without a valid token. Throws `cluster.rateLimited`.
    func admitStranger(_ request: HTTPRequest) throws(Failure) {
        let network = request.remoteNetwork
        guard !network.isEmpty else { return }
        if let most = addresses.exceeded(by: network, now) {
            throw Self.rejection("Requests from this address without a valid token are", most)
        }
    }

    private static func rejection(_ subject: String, _ most: Int) -> Failure {
        Failure(.clusterRateLimited, "\(subject) limited to \(most) requests per second.")
    }
}
