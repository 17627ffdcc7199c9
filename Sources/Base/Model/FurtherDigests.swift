/// Digests in addition to SHA-256 that a list names for a file, on the wire and in the database:
/// `crc32c=…,md5=…`. Lower-case hex digits, each algorithm once, in the order of their names.
package enum FurtherDigests {
    /// Number of hex digits of each algorithm that a list may name.
    package static let hexDigits = [
        "crc32": 8, "crc32c": 8, "crc64nvme": 16, "md5": 32, "sha1": 40, "sha512": 128,
    ]

    /// Returns nil if there are no digests.
    package static func text(_ digests: [String: String]) -> String? {
        guard !digests.isEmpty else { return nil }
        return digests.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.lowercased())" }
            .joined(separator: ",")
    }

    /// Returns true for valid text of digests.
    package static func isValid(_ text: String) -> Bool {
        var last: Substring = ""
        return text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { member in
            guard let name = algorithm(of: member), last < name, name != "sha256" else {
                return false
            }
            last = name
            return true
        }
    }

    /// Returns true for valid text of an origin's stated digests of a whole object. It is as above,
    /// but in any order, may include SHA-256, may repeat algorithms, and has at most `maxStated`
    /// digests.
    package static func isStatement(_ text: String) -> Bool {
        let members = text.split(separator: ",", omittingEmptySubsequences: false)
        return members.count <= maxStated && members.allSatisfy { algorithm(of: $0) != nil }
    }

    /// Maximum number of stated digests; repeated algorithms can only contradict each other.
    package static let maxStated = 16

    /// Returns the algorithm of `md5=…` with its number of lower-case hex digits; nil for other
    /// text.
    private static func algorithm(of member: Substring) -> Substring? {
        let halves = member.split(separator: "=", omittingEmptySubsequences: false)
        guard halves.count == 2,
            halves[0] == "sha256"
                ? halves[1].utf8.count == 64
                : hexDigits[String(halves[0])] == halves[1].utf8.count,
            halves[1].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        return halves[0]
    }
}
