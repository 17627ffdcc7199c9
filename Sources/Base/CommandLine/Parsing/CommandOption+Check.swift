import Text

extension CommandOption {
    /// Throws if the option cannot have this value.
    ///
    /// - Parameter source: the name of the value in messages; nil for `--name`.
    package func check(_ value: String, source: String? = nil) throws(UsageError) {
        let shown = source ?? "--\(name)"
        guard !value.isEmpty else {
            throw UsageError("\(shown) is empty", hint: "Write \(synopsis).")
        }
        switch kind {
        case .flag, .text, .file, .directory: return
        case .choice(_, let words):
            guard !words.contains(value) else { return }
            throw Self.unknown(value, for: shown, words)
        case .choices(_, let words):
            for word in value.split(separator: ",", omittingEmptySubsequences: false)
            where !words.contains(String(word)) {
                throw Self.unknown(value, for: shown, words)
            }
        case .integer(_, let range):
            if let number = Int(value), range.contains(number) { return }
            throw UsageError(
                "\(shown) is '\(printable(value))'",
                hint: "Use a whole number from \(range.lowerBound) to \(range.upperBound).")
        case .number(_, let range):
            // Double also parses hexadecimal, infinity and nan.
            let isDecimal = value.utf8.allSatisfy { "0123456789.+-eE".utf8.contains($0) }
            if isDecimal, let number = Double(value), range.contains(number) { return }
            throw UsageError(
                "\(shown) is '\(printable(value))'",
                hint: "Use a number from \(Self.text(range.lowerBound)) to "
                    + "\(Self.text(range.upperBound)).")
        }
    }

    /// Returns true if the option can have this value.
    func allows(_ value: String) -> Bool {
        do throws(UsageError) {
            try check(value)
            return true
        } catch {
            return false
        }
    }

    static func unknown(_ value: String, for name: String, _ words: [String]) -> UsageError {
        UsageError(
            "\(name) is '\(printable(String(value.prefix(100))))'",
            hint: "Use \(words.joinedByOr).")
    }

    /// Returns `1000000` rather than `1000000.0`.
    private static func text(_ bound: Double) -> String {
        Int(exactly: bound).map { "\($0)" } ?? "\(bound)"
    }
}
