/// One HTTP request to an S3 server or a source of credentials.
struct HTTPCall: Sendable {
    var method: String
    var url: String
    /// In the form "Name: value".
    var headers: [String]
    var body: UploadBody?
    var connectTimeoutSeconds = 10.0
    var timeoutSeconds = 60.0
    var maximumAnswerBytes = 8 << 20
    /// Takes the body of a 2xx answer as it arrives, on the loop; returns false to end the request.
    var sink: (@Sendable (UnsafeRawBufferPointer) -> Bool)?
    /// Asked during the request; once false, the request ends with `worker.leaseLost`.
    var isWanted: @Sendable () -> Bool = { true }
}

/// The body of a request.
///
/// `@unchecked`: its owner fills it before it is sent, and does not change it afterwards.
package final class UploadBody: @unchecked Sendable {
    package let bytes: UnsafeMutableRawBufferPointer

    package init(byteCount: Int) {
        bytes = .allocate(byteCount: byteCount, alignment: 64)
    }

    package convenience init(_ content: [UInt8]) {
        self.init(byteCount: content.count)
        bytes.copyBytes(from: content)
    }

    deinit { bytes.deallocate() }
}

/// The answer to a request.
package struct HTTPAnswer: Sendable {
    package var status: Int
    package var body: [UInt8]
    /// Lower-case names.
    package var headers: [String: String]
    package var dateSeconds: Int64?

    /// The headers that are read.
    static let names = [
        "content-length", "content-type", "etag", "x-amz-bucket-region", "x-amz-checksum-sha256",
        "x-amz-meta-dray-sha256", "x-amz-request-id",
    ]
}
