import Digest

/// The signature of a request to an AWS service, version 4, in its header.
///
/// Source: "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)" of the
/// S3 API reference.
package struct RequestSignature: Sendable {
    /// SHA-256 of an empty body.
    package static let emptyBody =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    package let credentials: Credentials
    package let region: String
    /// `s3` or `sts`.
    package let service: String

    package init(credentials: Credentials, region: String, service: String = "s3") {
        self.credentials = credentials
        self.region = region
        self.service = service
    }

    /// Returns the value of the `Authorization` header.
    ///
    /// - Parameters:
    ///   - path: Percent-encoded once, as it is sent.
    ///   - query: Names and values, not encoded.
    ///   - headers: Those to sign, with `host` and `x-amz-date`; lower-case names, trimmed values.
    ///   - bodyHash: SHA-256 of the body in hex.
    ///   - time: `20130524T000000Z`, as in `x-amz-date`.
    package func authorization(
        method: String, path: String, query: [(name: String, value: String)],
        headers: [(name: String, value: String)], bodyHash: String, time: String
    ) -> String {
        let headers = headers.sorted { $0.name < $1.name }
        let names = headers.map(\.name).joined(separator: ";")
        let lines = headers.map { "\($0.name):\($0.value)\n" }.joined()
        let canonical = [
            method, path, Self.text(of: query), lines, names, bodyHash,
        ].joined(separator: "\n")
        let day = String(time.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let hash = SHA256Digest(hashing: Array(canonical.utf8)).description
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(hash)"
        let signature = SHA256Digest(authenticating: Array(text.utf8), key: key(day)).description
        return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope),"
            + "SignedHeaders=\(names),Signature=\(signature)"
    }

    private func key(_ day: String) -> [UInt8] {
        [day, region, service, "aws4_request"].reduce(
            Array("AWS4\(credentials.secretKey)".utf8)
        ) { key, text in
            SHA256Digest(authenticating: Array(text.utf8), key: key).withUnsafeBytes { Array($0) }
        }
    }

    /// Returns the text of a query, as it is signed and sent.
    package static func text(of query: [(name: String, value: String)]) -> String {
        query.map { (encoded($0.name), encoded($0.value)) }
            .sorted { $0 < $1 }
            .map { "\($0)=\($1)" }.joined(separator: "&")
    }

    /// Encodes all but unreserved characters (RFC 3986, 2.3).
    package static func encoded(_ text: String, keepsSlashes: Bool = false) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            case UInt8(ascii: "/") where keepsSlashes: bytes.append(byte)
            default:
                let digits = Array("0123456789ABCDEF".utf8)
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
