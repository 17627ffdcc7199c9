internal import Digest

/// Digests of the object that a response's header states.
///
/// Only digests of the whole object as stored count, not composites of parts' digests, and not
/// those of a compressed form. Malformed values and unknown algorithms are ignored.
enum StatedDigests {
    /// Returns all digests, also several of one algorithm; two that differ can never both agree.
    ///
    /// - Parameters:
    /// - isWhole: True if the body is the whole object (200), not a range of it.
    /// - headers: Returns the values of a header by its name, one per line.
    static func of(isWhole: Bool, headers: (String) -> [String]) -> [ExpectedDigest] {
        var digests: [ExpectedDigest] = []
        // RFC 9530, 3: of the selected representation, also in a 206.
        for line in headers("Repr-Digest") { digests += dictionary(line) }
        let isStoredPlain = headers("x-goog-stored-content-encoding").allSatisfy {
            $0.lowercased() == "identity"
        }
        if isStoredPlain {
            for line in headers("x-goog-hash") { digests += list(line, google) }
        }
        guard isWhole else { return unique(digests) }
        // RFC 3230, 4.3.2, obsolete: of the instance. For a range, some origins state the range's
        // digest.
        for line in headers("Digest") { digests += list(line, names) }
        // Of this message's body (RFC 1864); S3 states the digest of the object or of its part.
        for value in headers("Content-MD5") { digests += [decoded(.md5, value)].compactMap(\.self) }
        let isComposite = headers("x-amz-checksum-type").contains {
            $0.lowercased() == "composite"
        }
        guard !isComposite else { return unique(digests) }
        for (name, algorithm) in amazon {
            for value in headers(name) { digests += [decoded(algorithm, value)].compactMap(\.self) }
        }
        return unique(digests)
    }

    private static let names: [String: DigestAlgorithm] = [
        "sha-512": .sha512, "sha-256": .sha256, "sha": .sha1, "md5": .md5, "crc32c": .crc32c,
    ]
    private static let google: [String: DigestAlgorithm] = ["crc32c": .crc32c, "md5": .md5]
    private static let amazon: [(name: String, algorithm: DigestAlgorithm)] = [
        ("x-amz-checksum-sha256", .sha256), ("x-amz-checksum-sha1", .sha1),
        ("x-amz-checksum-crc32c", .crc32c), ("x-amz-checksum-crc32", .crc32),
        ("x-amz-checksum-crc64nvme", .crc64nvme), ("x-amz-checksum-sha512", .sha512),
        ("x-amz-checksum-md5", .md5),
    ]

    /// Parses a dictionary of byte sequences: `sha-256=:…:, sha-512=:…:` (RFC 8941, 3.2).
    private static func dictionary(_ line: String) -> [ExpectedDigest] {
        line.split(separator: ",").compactMap { member in
            let member = member.drop { $0 == " " || $0 == "\t" }
            guard let equals = member.firstIndex(of: "="),
                let algorithm = names[String(member[..<equals])]
            else { return nil }
            let value = member[member.index(after: equals)...]
            guard value.first == ":", let end = value.dropFirst().firstIndex(of: ":") else {
                return nil
            }
            return decoded(algorithm, value[value.index(after: value.startIndex)..<end])
        }
    }

    /// Parses `SHA-256=…,MD5=…`, with names in either case.
    private static func list(
        _ line: String, _ algorithms: [String: DigestAlgorithm]
    ) -> [ExpectedDigest] {
        line.split(separator: ",").compactMap { member in
            let member = trimmed(member)
            guard let equals = member.firstIndex(of: "="),
                let algorithm = algorithms[member[..<equals].lowercased()]
            else { return nil }
            let value = member[member.index(after: equals)...]
            // The old registry wrote CRC32C in hex digits.
            return decoded(algorithm, value)
                ?? (algorithm == .crc32c ? ExpectedDigest(.crc32c, hex: value) : nil)
        }
    }

    /// Returns nil unless `text` is Base64 of the algorithm's length. S3's `…-N` for a composite is
    /// rejected.
    private static func decoded(
        _ algorithm: DigestAlgorithm, _ text: some StringProtocol
    ) -> ExpectedDigest? {
        guard algorithm.isAvailable else { return nil }
        return Base64.decoded(trimmed(text)).flatMap { ExpectedDigest(algorithm, bytes: $0) }
    }

    private static func trimmed(_ text: some StringProtocol) -> Substring {
        var text = Substring(text)
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text.drop { $0 == " " || $0 == "\t" }
    }

    private static func unique(_ digests: [ExpectedDigest]) -> [ExpectedDigest] {
        var seen: Set<ExpectedDigest> = []
        return digests.filter { seen.insert($0).inserted }
    }
}

/// Base64 with its usual alphabet (RFC 4648, 4).
enum Base64 {
    /// Returns nil for any other character and for an impossible length. Padding may be missing.
    static func decoded(_ text: some StringProtocol) -> [UInt8]? {
        var digits = Array(text.utf8)
        let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2, padding == 0 || digits.count % 4 == 0 else { return nil }
        digits.removeLast(padding)
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        var pending: UInt32 = 0
        var bits = 0
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            pending = pending << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(bits)))
            }
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
