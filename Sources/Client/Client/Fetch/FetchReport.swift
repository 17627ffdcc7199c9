import FoundationEssentials
package import Model
import Rendering
import Text

/// The result of one `dray fetch`, as JSON and as text.
package struct FetchReport: Encodable, Sendable {
    /// URL without user and query, which may be secret; so is `finalURL`.
    var url: String
    /// URL after redirects.
    var finalURL: String?
    /// Path of the file; nil for stdout.
    var file: String?
    var bytes: Int64 = 0
    /// Bytes among these that an earlier run fetched; nil for none.
    var resumedBytes: Int64?
    /// Bytes that the next run can resume from after a failure; nil for none.
    package var keptBytes: Int64?
    /// Number of retries.
    var retries = 0
    var sha256: String?
    /// True if a digest of the command line or the response was compared and matches.
    var verified = false
    /// Seconds from the start of the command's work to the last byte.
    var seconds = 0.0
    /// Seconds from the start of the last request; 0 on an existing connection.
    var connectSeconds: Double?
    var firstByteSeconds: Double?
    var bytesPerSecond: Double?
    var status: Int?
    var httpVersion: String?
    var contentType: String?
    var etag: String?
    var lastModified: String?
    /// Number of parts that were fetched.
    var parts = 1
    package var failure: Failure?

    /// The lines of the text report.
    package var lines: [String] {
        var words = "\(HumanFormat.bytes(bytes)) in \(Self.duration(seconds))"
        if let resumedBytes {
            words += ", \(HumanFormat.bytes(resumedBytes)) of them from an earlier run"
        }
        if let bytesPerSecond {
            words += ", \(HumanFormat.rate(bytesPerSecond: bytesPerSecond))"
        }
        if let firstByteSeconds {
            words += ", first byte after \(Self.milliseconds(firstByteSeconds))"
        }
        if let httpVersion { words += ", HTTP/\(httpVersion)" }
        let digest = sha256.map { "SHA-256 \($0)\(verified ? ", verified" : "")" }
        return ["\(printable(file ?? "stdout")): \(words)"] + (digest.map { [$0] } ?? [])
    }

    private static func duration(_ seconds: Double) -> String {
        guard seconds < 10 else { return HumanFormat.duration(seconds: seconds) }
        return "\(HumanFormat.fixed(seconds, places: seconds < 1 ? 3 : 2)) s"
    }

    private static func milliseconds(_ seconds: Double) -> String {
        let value = seconds * 1_000
        return "\(HumanFormat.fixed(value, places: value < 10 ? 1 : 0)) ms"
    }

    /// Encodes the report as one line of JSON with sorted keys.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
    }
}
