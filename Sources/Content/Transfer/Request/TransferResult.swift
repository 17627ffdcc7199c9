package import Curl
package import Digest
package import Model
package import Storage

/// How a transfer ended.
package struct TransferResult: Sendable {
    package var outcome: Result<Fetched, Failure>
    /// The last answer's status; nil when there was none.
    package var httpStatus: Int?
    /// The last answer's: "1.1", "2"; nil when there was none.
    package var httpVersion: String?
    /// The origin that was asked last, after redirects, as `originName(of:)` makes it; nil when none was.
    package var origin: String?
    /// What that origin asked for with `Retry-After`, 0 to 3,600.
    package var retryAfterSeconds: Double?
    /// Of a failure: what the next attempt can go on with, for the owner to keep; dropped, it is
    /// discarded.
    package var left: PartialBody?
    /// Of the last request, when there were redirects.
    package var timings = CurlEasy.Timings()

    package var connectSeconds: Double { timings.connectSeconds }
    package var firstByteSeconds: Double { timings.firstByteSeconds }
    package var totalSeconds: Double { timings.totalSeconds }

    package init(_ outcome: Result<Fetched, Failure>) { self.outcome = outcome }
}

/// What a transfer received, checked but not yet durable.
package struct Fetched: Sendable {
    package var bytes: Int64
    /// Of these bytes; 64 lower-case hex digits.
    package var sha256: String
    /// A digest that the list or the origin states was compared, and agrees.
    package var isVerified = false
    /// Of a range: what its answer states of the whole object.
    package var stated: [ExpectedDigest] = []
    /// For a destination in storage: to be committed, or discarded.
    package var object: PendingObject?
    /// For a destination in memory.
    package var body: [UInt8]?
    /// True when the object was split: `bytes` and `sha256` are of its start only.
    package var isFirstPart = false
    /// After redirects; what relative references in a manifest are relative to.
    package var finalURL: String
    package var etag: String?
    package var lastModified: String?
    /// What to ask with the next time, as `TransferRequest.validator`; nil where the origin gives nothing.
    package var validator: String?
    /// Nothing came, because what `TransferRequest.validator` names is still right.
    package var isUnchanged = false
    package var contentType: String?
    /// When the origin made the answer, by its own clock, in seconds since 1970, with the time that it lay in
    /// a cache since; nil where it does not say.
    package var answeredSeconds: Double?
}
