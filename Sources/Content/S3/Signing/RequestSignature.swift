import Digest

/// The signature of a request to an AWS service, version 4, in its header or its query.
///
/// Source: "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)" and
/// "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)" of the S3 API reference.
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
        let signature = signature(
            method: method, path: path, query: query, headers: headers, bodyHash: bodyHash,
            time: time)
        let names = headers.map(\.name).joined(separator: ";")
        return "\(Self.algorithm) Credential=\(credential(at: time)),"
            + "SignedHeaders=\(names),Signature=\(signature)"
    }

    /// Returns the query of a GET that needs no other header than `host` until it expires.
    ///
    /// - Parameters:
    ///   - path: Percent-encoded once, as it is sent.
    ///   - host: The value of the header, with a port other than the scheme's.
    ///   - time: `20130524T000000Z`, from which it is valid.
    ///   - seconds: Time until it expires, 1 to 604,800.
    package func query(ofPath path: String, host: String, time: String, seconds: Int64) -> String {
        var query: [(name: String, value: String)] = [
            ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", credential(at: time)),
            ("X-Amz-Date", time), ("X-Amz-Expires", "\(seconds)"), ("X-Amz-SignedHeaders", "host"),
        ]
        if let token = credentials.sessionToken { query.append(("X-Amz-Security-Token", token)) }
        let signature = signature(
            method: "GET", path: path, query: query, headers: [("host", host)],
            bodyHash: "UNSIGNED-PAYLOAD", time: time)
        return "\(Self.text(of: query))&X-Amz-Signature=\(signature)"
    }

    private static let algorithm = "AWS4-HMAC-SHA256"

    private func scope(at time: String) -> String {
        "\(time.prefix(8))/\(region)/\(service)/aws4_request"
    }

    private func credential(at time: String) -> String {
        "\(credentials.accessKey)/\(scope(at: time))"
    }

    /// - Parameter headers: Sorted by name.
    private func signature(
        method: String, path: String, query: [(name: String, value: String)],
        headers: [(name: String, value: String)], bodyHash: String, time: String
    ) -> String {
        let names = headers.map(\.name).joined(separator: ";")
        let lines = headers.map { "\($0.name):\($0.value)\n" }.joined()
        let canonical = [
            method, path, Self.text(of: query), lines, names, bodyHash,
        ].joined(separator: "\n")
        let hash = SHA256Digest(hashing: Array(canonical.utf8)).description
        let text = "\(Self.algorithm)\n\(time)\n\(scope(at: time))\n\(hash)"
        let key = key(String(time.prefix(8)))
        return SHA256Digest(authenticating: Array(text.utf8), key: key).description
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
