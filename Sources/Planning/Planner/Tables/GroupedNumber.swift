/// Numbers of exports: a decimal point, and thousands in groups of three by commas or blanks.
package enum GroupedNumber {
    private static let separators: Set<Character> = [",", " ", "\u{A0}", "\u{202F}"]

    /// Returns the value of `30000`, `30,000`, `30 000.5` or `3e4`; nil for other text, such as
    /// `1,5`.
    package static func value(_ text: String) -> Double? {
        guard let separator = text.first(where: separators.contains) else {
            // Double also parses hexadecimal, infinity and nan.
            guard text.utf8.allSatisfy({ "0123456789.+-eE".utf8.contains($0) }) else { return nil }
            return Double(text)
        }
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let groups = parts[0].split(separator: separator, omittingEmptySubsequences: false)
        guard let first = groups.first, (1...3).contains(first.count),
            groups.dropFirst().allSatisfy({ $0.count == 3 }),
            (groups + parts.dropFirst()).allSatisfy({ $0.utf8.allSatisfy(isDigit) })
        else { return nil }
        return Double(groups.joined() + (parts.count == 2 ? ".\(parts[1])" : ""))
    }

    /// Returns true for `30.000`, which may be thirty, or thirty thousand.
    package static func isAmbiguous(_ text: some StringProtocol) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.allSatisfy(isDigit) }) else {
            return false
        }
        return (1...3).contains(parts[0].count) && parts[0].first != "0" && parts[1].count == 3
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
