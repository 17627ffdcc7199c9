/// Digests beside SHA-256 that a list names for a file, as they travel and are stored: `crc32c=…,md5=…`,
/// lower-case hex digits, each algorithm once, in the order of their names.
package enum FurtherDigests {
    /// Hex digits of each algorithm that a list may name.
    package static let hexDigits = ["crc32c": 8, "md5": 32, "sha1": 40, "sha512": 128]

    /// Nil when there is none.
    package static func text(_ digests: [String: String]) -> String? {
        guard !digests.isEmpty else { return nil }
        return digests.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.lowercased())" }
            .joined(separator: ",")
    }

    /// Whether it is such a text.
    package static func isValid(_ text: String) -> Bool {
        var last = ""
        return text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { member in
            let halves = member.split(separator: "=", omittingEmptySubsequences: false)
            guard halves.count == 2, last < halves[0],
                hexDigits[String(halves[0])] == halves[1].utf8.count
            else { return false }
            last = String(halves[0])
            return halves[1].utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
            }
        }
    }
}
