/// Finds tokens in the components of a path, such as Akamai's `/exp=1~acl=/*~hmac=…/`, `/hdntl=…/`
/// and Bunny's `/bcdn_token=…&expires=…/`.
package enum SignedPath {
    /// Replaces a token in a key. The component remains, so that relative references still resolve.
    package static let mark = Array("~".utf8)
    /// Replaces a signature for comparisons of URLs, in which it never occurs.
    static let comparedMark = Array(" ".utf8)

    private static let hmac = Array("~hmac=".utf8)
    private static let equals = UInt8(ascii: "=")
    private static let slash = UInt8(ascii: "/")
    private static let semicolon = UInt8(ascii: ";")

    /// A cheap check: returns false if there is certainly no token.
    private static func mayHoldToken(_ path: ArraySlice<UInt8>) -> Bool {
        // `=` may be written as %3D.
        path.contains { $0 == equals || $0 == 0x25 }
    }

    /// Returns true if a parameter or component consists of Akamai's fields, in any order.
    static func isFields(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count > hmac.count, text.contains(hmac[0]) || text.contains(0x25) else {
            return false
        }
        let text = SignedNames.decoded(text)
        var rest = text
        while let tilde = rest.firstIndex(of: hmac[0]) {
            if rest[tilde...].starts(with: hmac) { return true }
            rest = rest[(tilde + 1)...]
        }
        return false
    }

    /// Returns `path` with each token in it replaced; nil if there is none.
    ///
    /// - Parameter onlyProofs: Leaves tokens that may select the response.
    package static func replacingTokens(
        _ path: ArraySlice<UInt8>, with mark: [UInt8], onlyProofs: Bool = false
    ) -> [UInt8]? {
        guard mayHoldToken(path) else { return nil }
        var out: [UInt8] = []
        var isWhole = true
        var start = path.startIndex
        while start < path.endIndex {
            let end = path[start...].firstIndex { $0 == slash || $0 == semicolon } ?? path.endIndex
            if isToken(path[start..<end], onlyProofs) {
                out += mark
                isWhole = false
            } else {
                out += path[start..<end]
            }
            if end < path.endIndex { out.append(path[end]) }
            start = end + 1
        }
        return isWhole ? nil : out
    }

    private static func isToken(_ part: ArraySlice<UInt8>, _ onlyProofs: Bool) -> Bool {
        guard mayHoldToken(part) else { return false }
        if isFields(part) { return true }
        let part = SignedNames.decoded(part)
        let name = part.prefix { $0 != equals }
        guard name.endIndex < part.endIndex else { return false }
        return switch SignedNames.meaning(of: name) {
        case .proof: true
        case .token: !onlyProofs
        default: false
        }
    }
}
