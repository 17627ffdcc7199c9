package import FileSystem

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
    /// Gets the ETag of such an answer before its first byte; returns false to end the request.
    var admits: (@Sendable (String?) -> Bool)?
    /// Asked during the request; once false, the request ends with `worker.leaseLost`.
    var isWanted: @Sendable () -> Bool = { true }
}

/// The body of a request.
package enum UploadBody: Sendable {
    case memory(UploadBytes)
    /// Bytes of a file, which are read while they are sent: a body may be larger than memory. The
    /// hash that is signed is that of the bytes that are wanted, so the server rejects others.
    case file(FileDescriptor, offset: Int64, count: Int)

    package init(_ content: [UInt8]) {
        let bytes = UploadBytes(count: content.count)
        bytes.buffer.copyBytes(from: content)
        self = .memory(bytes)
    }

    package var count: Int {
        switch self {
        case .memory(let bytes): bytes.buffer.count
        case .file(_, _, let count): count
        }
    }
}

/// Bytes of a body in memory.
///
/// `@unchecked`: its owner fills it before it is sent, and does not change it afterwards.
package final class UploadBytes: @unchecked Sendable {
    package let buffer: UnsafeMutableRawBufferPointer

    package init(count: Int) {
        buffer = .allocate(byteCount: count, alignment: 64)
    }

    deinit { buffer.deallocate() }
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
