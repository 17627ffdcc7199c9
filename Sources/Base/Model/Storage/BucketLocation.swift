/// A bucket of an S3 server, the prefix of a site's objects in it, and the settings of its requests:
/// `s3://bucket/prefix?endpoint=URL&region=NAME&style=path`.
///
/// It has no credentials: each process finds its own. Canonical: one text for each value.
package struct BucketLocation: Hashable, Sendable {
    /// The position of the bucket's name in URLs.
    package enum Style: String, Sendable {
        /// `https://endpoint/bucket/key`
        case path
        /// `https://bucket.endpoint/key`
        case host
    }

    /// Encryption at the server.
    package enum Encryption: Hashable, Sendable {
        /// The bucket's own setting.
        case ofBucket
        /// By keys of the server: SSE-S3, `AES256`.
        case managed
        /// By a key of its key service: SSE-KMS, `aws:kms`; nil for its default key.
        case keyService(key: String?)
    }

    package let bucket: String
    /// Key of the site's directory, without slashes at its ends; empty for the whole bucket.
    package let prefix: String
    /// `https://host` or `http://host:port`, without a path; nil for that of AWS in the region.
    package let endpoint: String?
    package let region: String
    package let style: Style
    package let encryption: Encryption
    /// Such as `STANDARD_IA`; nil for the bucket's default.
    package let storageClass: String?

    /// The region of a URL without one.
    package static let defaultRegion = "us-east-1"

    /// Returns true if an object of one site may be an object of the other.
    package func overlaps(_ other: BucketLocation) -> Bool {
        guard (endpointURL, bucket) == (other.endpointURL, other.bucket) else { return false }
        let (mine, others) = (
            prefix.isEmpty ? "" : prefix + "/", other.prefix.isEmpty ? "" : other.prefix + "/"
        )
        return mine.hasPrefix(others) || others.hasPrefix(mine)
    }

    /// Parses the text after `s3:`. Throws `storage.unreachable` with the field that is wrong, and
    /// `storage.pathRefused` for a prefix that no key may have.
    ///
    /// - Parameter maximumPrefixBytes: Of the decoded prefix.
    init(afterScheme text: Substring, maximumPrefixBytes: Int = 512) throws(Failure) {
        guard text.hasPrefix("//") else { throw Self.wrong("an S3 URL is s3://bucket/prefix") }
        let parts = text.dropFirst(2).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        bucket = try Self.bucket(String(path[0]))
        prefix = try Self.prefix(path.count > 1 ? path[1] : "", maximumPrefixBytes)
        var fields = try Fields(parts.count > 1 ? parts[1] : "")
        endpoint = try fields.take("endpoint").map { text throws(Failure) in
            try Self.endpoint(text)
        }
        region = try Self.name(
            fields.take("region") ?? Self.defaultRegion, "region", "a name such as eu-central-1")
        let style = fields.take("style")
        guard let style = style.map(Style.init(rawValue:)) ?? (endpoint == nil ? .host : .path)
        else { throw Self.wrong("style is path or host, not \(style ?? "")") }
        self.style = style
        let key = try fields.take("kms-key").map { text throws(Failure) in
            try Self.name(text, "kms-key", "the name of a key", also: ":/")
        }
        switch (fields.take("encryption"), key) {
        case (nil, nil): encryption = .ofBucket
        case ("AES256", nil): encryption = .managed
        case ("aws:kms", _): encryption = .keyService(key: key)
        case (let given, nil):
            throw Self.wrong("encryption is AES256 or aws:kms, not \(given ?? "")")
        case (_, _): throw Self.wrong("kms-key needs encryption=aws:kms")
        }
        storageClass = try fields.take("storage-class").map { text throws(Failure) in
            try Self.name(text, "storage-class", "a name such as STANDARD_IA")
        }
        if let other = fields.other {
            throw Self.wrong(
                "an S3 URL has no field \(String(other.prefix(40)).debugDescription); it may have "
                    + "endpoint, region, style, encryption, kms-key and storage-class")
        }
    }

    /// The endpoint, or that of AWS in the region.
    package var endpointURL: String { endpoint ?? "https://s3.\(region).amazonaws.com" }

    // MARK: Parsing

    private static func wrong(_ message: String) -> Failure {
        Failure(.storageUnreachable, message)
    }

    private static func bucket(_ text: String) throws(Failure) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            isLetterOrDigit(byte) && !(0x41...0x5A).contains(byte) || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
        }
        guard isPlain, (3...63).contains(text.utf8.count), !text.contains("..") else {
            throw wrong(
                "a bucket's name has 3 to 63 lower-case letters, digits, hyphens and dots, not "
                    + String(text.prefix(70)).debugDescription)
        }
        return text
    }

    private static func prefix(
        _ text: Substring, _ maximumBytes: Int
    ) throws(Failure) -> String {
        guard let decoded = StorageURL.decodePercents(text) else {
            throw Failure(.storagePathRefused, "an S3 prefix is percent-encoded UTF-8")
        }
        let components = pathComponents(of: decoded)
        let isPlain = components.allSatisfy { $0 != "." && $0 != ".." && $0 != ".dray" }
        guard isPlain, decoded.utf8.count <= maximumBytes,
            decoded.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else {
            throw Failure(
                .storagePathRefused,
                "an S3 prefix has at most \(maximumBytes) bytes, without ., .., .dray and control "
                    + "characters")
        }
        return components.joined(separator: "/")
    }

    private static func endpoint(_ text: String) throws(Failure) -> String {
        let lower = text.lowercased()
        let (scheme, rest) =
            lower.hasPrefix("http://")
            ? ("http://", lower.dropFirst(7)) : ("https://", lower.dropFirst(8))
        let host = rest.hasSuffix("/") ? rest.dropLast() : rest
        let isPlain = host.utf8.allSatisfy { isLetterOrDigit($0) || "-.:[]_".utf8.contains($0) }
        guard lower.hasPrefix(scheme), !host.isEmpty, isPlain, host.utf8.count <= 300 else {
            throw wrong(
                "endpoint is https://host or http://host:port without a path, not "
                    + Redaction.shown(text, limit: 200).debugDescription)
        }
        return scheme + host
    }

    private static func name(
        _ text: String, _ field: String, _ allowed: String, also: String = ""
    ) throws(Failure) -> String {
        let isPlain = text.utf8.allSatisfy {
            isLetterOrDigit($0) || "-_.".utf8.contains($0) || also.utf8.contains($0)
        }
        guard !text.isEmpty, text.utf8.count <= 256, isPlain else {
            throw wrong(
                "\(field) is \(allowed), not \(String(text.prefix(100)).debugDescription)")
        }
        return text
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// The fields of the query. A value.
    private struct Fields {
        private var values: [String: String] = [:]

        init(_ query: Substring) throws(Failure) {
            for field in query.split(separator: "&") {
                let pair = field.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard pair.count == 2, let value = StorageURL.decodePercents(pair[1]) else {
                    throw wrong("a field of an S3 URL is name=value")
                }
                guard values.updateValue(value, forKey: String(pair[0])) == nil else {
                    throw wrong("the field \(pair[0]) appears twice in an S3 URL")
                }
            }
        }

        mutating func take(_ name: String) -> String? { values.removeValue(forKey: name) }

        var other: String? { values.keys.min() }
    }
}

extension BucketLocation: CustomStringConvertible {
    /// The canonical URL: fields in a fixed order, without those that are the default.
    package var description: String {
        var fields: [String] = []
        if let endpoint { fields.append("endpoint=\(endpoint)") }
        if region != Self.defaultRegion { fields.append("region=\(region)") }
        if style != (endpoint == nil ? .host : .path) { fields.append("style=\(style.rawValue)") }
        switch encryption {
        case .ofBucket: break
        case .managed: fields.append("encryption=AES256")
        case .keyService(let key):
            fields.append("encryption=aws:kms")
            if let key { fields.append("kms-key=\(key)") }
        }
        if let storageClass { fields.append("storage-class=\(storageClass)") }
        return urlWithoutFields + (fields.isEmpty ? "" : "?" + fields.joined(separator: "&"))
    }

    /// The URL without its fields: `s3://bucket/prefix`.
    package var urlWithoutFields: String {
        "s3://\(bucket)" + (prefix.isEmpty ? "" : "/" + StorageURL.percentEncoded(prefix))
    }
}

// MARK: Objects

extension BucketLocation {
    /// Maximum length of an object's key in bytes.
    private static let maximumKeyBytes = 1_024

    /// Returns true for text with the scheme of S3 URLs.
    package static func isURL(_ text: some StringProtocol) -> Bool {
        text.prefix(3).lowercased() == "s3:"
    }

    /// Parses the URL of one object, whose key is the prefix: `s3://bucket/key`, with the fields of a
    /// site. Throws `input.url`.
    package init(object text: String) throws(Failure) {
        func wrong(_ message: String) -> Failure {
            Failure(
                .inputURL, "\(message), given \(Redaction.shown(text))",
                hint: "Give an object as s3://bucket/key?endpoint=URL&region=NAME&style=path.")
        }
        guard Self.isURL(text) else { throw wrong("the URL of an object starts with s3://") }
        do throws(Failure) {
            try self.init(afterScheme: text.dropFirst(3), maximumPrefixBytes: Self.maximumKeyBytes)
        } catch {
            throw wrong(error.detail)
        }
        guard !prefix.isEmpty else { throw wrong("the URL of an object has a key") }
    }
}
