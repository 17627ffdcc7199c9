/// One request to a bucket.
package struct S3Request: Sendable {
    package var method: String
    /// Key in the bucket; empty for the bucket itself.
    package var key: String
    package var query: [(name: String, value: String)] = []
    /// Lower-case names; all are signed.
    package var headers: [(name: String, value: String)] = []
    package var body: UploadBody?
    /// SHA-256 of the body in hex.
    package var bodyHash = RequestSignature.emptyBody
    package var sink: (@Sendable (UnsafeRawBufferPointer) -> Bool)?
    /// Gets the ETag of an answer with a body for `sink`; returns false to end the request.
    package var admits: (@Sendable (String?) -> Bool)?
    /// Asked before and during the request; once false, it ends with `worker.leaseLost`.
    package var isWanted: @Sendable () -> Bool = { true }
    /// Bytes that the server copies or reads before it answers; they lengthen the timeout.
    package var copiedBytes: Int64 = 0
    /// Statuses besides 2xx that are answers, not failures.
    package var accepted: Set<Int> = []
    /// The server's own codes of errors that are answers.
    package var acceptedCodes: Set<String> = []

    /// Maximum number of tries.
    package static let tries = 5
    package var maximumTries = S3Request.tries

    package init(_ method: String, _ key: String) {
        self.method = method
        self.key = key
    }
}
