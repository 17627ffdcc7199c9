package import Curl
package import Digest
package import Model
package import Storage

/// The result of a transfer.
package struct TransferResult: Sendable {
    package var outcome: Result<Fetched, Failure>
    /// Status of the last response; nil if there was none.
    package var httpStatus: Int?
    /// Version of the last response: "1.1", "2"; nil if there was none.
    package var httpVersion: String?
    /// The origin of the last request, after redirects, as named by `originName(of:)`; nil if there
    /// was none.
    package var origin: String?
    /// Delay in that origin's `Retry-After`, 0 to 3,600 seconds.
    package var retryAfterSeconds: Double?
    /// For the failure `origin.redirected`: the URL that the redirect leads to; nil for none.
    package var redirect: String?
    /// For a failure: the partial body for the next attempt. It is discarded unless the owner keeps
    /// it.
    package var left: PartialBody?
    /// Timings of the last request, after redirects.
    package var timings = CurlEasy.Timings()

    package var connectSeconds: Double { timings.connectSeconds }
    package var firstByteSeconds: Double { timings.firstByteSeconds }
    package var totalSeconds: Double { timings.totalSeconds }

    package init(_ outcome: Result<Fetched, Failure>) { self.outcome = outcome }
}

/// A received body, checked but not yet durable.
package struct Fetched: Sendable {
    /// Length and digest of the bytes, which the job's result passes on.
    package var received = StoredObject(bytes: 0, sha256: "")
    package var bytes: Int64 { received.bytes }
    package var sha256: String { received.sha256 }
    /// True if a digest stated by the list or the origin was compared and matches.
    package var isVerified = false
    /// For a range: the digests of the whole object in its response.
    package var stated: [ExpectedDigest] = []
    /// For a destination in storage: the object to commit or discard.
    package var object: PendingObject?
    /// For a destination in memory.
    package var body: [UInt8]?
    /// True if the object was split: `received` is its start only.
    package var isFirstPart = false
    package var response: Response
    /// True if no body was sent, because the object of `TransferRequest.validator` is unchanged.
    package var isUnchanged = false
    /// The answer to a HEAD request; nil for other requests.
    package var described: Description?

    /// An object as an answer without a body states it.
    package struct Description: Sendable {
        /// Nil if it is not stated, or of an encoded body.
        package var bytes: Int64?
        /// Last-Modified, in seconds since 1970.
        package var modifiedSeconds: Int64?
    }

    /// What the last response's header states.
    package struct Response: Sendable {
        /// The URL after redirects; relative references in a manifest resolve against it.
        package var finalURL: String
        package var etag: String?
        package var lastModified: String?
        /// Value for the next `TransferRequest.validator`; nil if the origin gives none.
        package var validator: String?
        package var contentType: String?
        /// The way a cache served the object; nil unless `TransferRequest.Access.edge` is set.
        package var cache: CacheAnswer?
        /// Time of the response by the origin's clock, in seconds since 1970, plus its age in a
        /// cache; nil if unknown.
        package var answeredSeconds: Double?
        /// Seconds for which a cache may use the response without asking again; nil if it states
        /// none, and for segments of titles.
        package var freshSeconds: Int?
    }
}
