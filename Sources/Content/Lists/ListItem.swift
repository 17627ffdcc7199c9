import Model
import Text
import WebURL

/// One entry of a list, as common to all forms.
struct ListItem {
    var url: WebURL
    /// In order of preference.
    var mirrors: [WebURL] = []
    var name: String?
    /// Nil derives it: a file if it has attributes of files, otherwise by the URL's path.
    var kind: AssetKind?
    var bytes: Int64?
    var digests = ListDigests()

    /// Returns the asset. Throws failures of the URL's key, without a position.
    func asset() throws(Failure) -> AssetSubmission {
        var asset = try ListReader.asset(url: url)
        asset.name = name ?? asset.name
        asset.bytes = bytes
        asset.sha256 = digests.sha256
        asset.digests = FurtherDigests.text(digests.others)
        asset.mirrors = mirrors.isEmpty ? nil : mirrors.map(\.text)
        let isOnlyAFile = bytes != nil || !digests.isEmpty || !mirrors.isEmpty
        asset.kind = kind ?? (isOnlyAFile ? .file : asset.kind)
        return asset
    }
}

/// The digests of one entry by their algorithm.
struct ListDigests {
    var sha256: String?
    /// By the algorithm's name in `FurtherDigests`.
    var others: [String: String] = [:]

    static let allowed = "md5, sha-1, sha-256, sha-512, crc32, crc32c, crc64nvme"

    var isEmpty: Bool { sha256 == nil && others.isEmpty }

    /// Returns the name of an algorithm in JSON lists: `SHA-256` is `sha256`. Nil for an
    /// unsupported one.
    static func algorithm(_ text: String) -> String? {
        let name = text.lowercased().filter { $0 != "-" }
        return hexDigits(name) == nil ? nil : name
    }

    static func hexDigits(_ algorithm: String) -> Int? {
        algorithm == "sha256" ? 64 : FurtherDigests.hexDigits[algorithm]
    }

    /// Sets a digest in hex digits, or returns its allowed form.
    mutating func set(_ algorithm: String, _ hex: String) -> String? {
        guard let digits = Self.hexDigits(algorithm) else { return Self.allowed }
        guard hex.utf8.count == digits, hex.utf8.allSatisfy({ ASCII.hexValue($0) != nil }) else {
            return "\(digits) hex digits"
        }
        if algorithm == "sha256" {
            sha256 = hex.lowercased()
        } else {
            others[algorithm] = hex.lowercased()
        }
        return nil
    }
}

/// Checks values of lists; failures have the line and the field.
enum ListField {
    /// Lengths of files, with the coordinator's limit.
    static let byteRange: ClosedRange<Int64> = 0...(16 << 40)
    static let allowedName = "1 to 1000 characters without control characters"

    static func isName(_ text: String, limit: Int = 1_000) -> Bool {
        let isPlain = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        return isPlain && (1...limit).contains(text.unicodeScalars.count)
            && text.utf8.count <= WireLimits.nameBytes
    }

    static func failure(
        _ line: Int, _ field: String, given: String, allowed: String
    ) -> Failure {
        Failure(
            .inputField, at: .line(line, field: field),
            "given \"\(Redaction.shown(given))\", allowed \(allowed)")
    }

    /// Parses a length in bytes; only digits are allowed.
    static func bytes(_ text: String, _ line: Int, _ field: String) throws(Failure) -> Int64 {
        let isDigits = text.utf8.allSatisfy(ASCII.isDigit)
        guard isDigits, let value = Int64(text), byteRange.contains(value) else {
            throw failure(
                line, field, given: text,
                allowed: "a whole number, \(byteRange.lowerBound) to \(byteRange.upperBound)")
        }
        return value
    }

    static func url(
        _ bytes: [UInt8], _ range: Range<Int>, _ line: Int, _ field: String
    ) throws(Failure) -> WebURL {
        do throws(WebURLError) {
            return try WebURL.parse(bytes, range)
        } catch {
            throw Failure(
                .inputURL, at: .line(line, field: field),
                "\(error.detail), given "
                    + "\"\(Redaction.shown(bytes, range))\", allowed an http or https URL")
        }
    }

    /// Returns true for a URL of an unsupported scheme, such as `ftp://` or `magnet:`.
    static func isOfAnotherScheme(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        guard let colon = bytes[range].firstIndex(of: ASCII.colon), colon > range.lowerBound,
            bytes[range.lowerBound..<colon].allSatisfy({
                ASCII.isAlphanumeric($0) || $0 == ASCII.minus || $0 == ASCII.dot || $0 == 0x2B
            }), ASCII.isLetter(bytes[range.lowerBound])
        else { return false }
        let scheme = range.lowerBound..<colon
        return !ASCII.isEqualIgnoringCase(bytes, scheme, "http")
            && !ASCII.isEqualIgnoringCase(bytes, scheme, "https")
    }
}
