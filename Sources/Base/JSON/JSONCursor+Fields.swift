package import Model

/// Reads and checks values of fields. A message names the field and its allowed values; it repeats
/// the given value only if that cannot be a secret.
extension JSONCursor {
    package func fieldFailure(
        at offset: Int, _ path: String, _ given: String, allowed: String
    ) -> Failure {
        Failure(.inputField, at: location(offset, field: path), given, allowed: allowed)
    }

    package func unknownField(_ name: String, at offset: Int, in path: String, allowed: String)
        -> Failure
    {
        let field = path.isEmpty ? Redaction.shown(name) : "\(path).\(Redaction.shown(name))"
        return fieldFailure(at: offset, field, "is not known here", allowed: allowed)
    }

    package mutating func expect(_ kind: Kind, _ path: String) throws(Failure) {
        let given = try peek()
        if given != kind {
            throw fieldFailure(
                at: index, path, "given \(given.rawValue)", allowed: kind.rawValue)
        }
    }

    /// Reads a string of 1 to `limit` bytes without control characters.
    package mutating func plainText(_ path: String, limit: Int = 8_192) throws(Failure) -> String {
        try expect(.string, path)
        let start = index
        let text = try string()
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        guard isPlain, (1...limit).contains(text.utf8.count) else {
            throw fieldFailure(
                at: start, path, text.isEmpty ? "is empty" : "cannot be used",
                allowed: "1 to \(limit) bytes without control characters")
        }
        return text
    }

    package mutating func wholeNumber(
        _ path: String, _ allowed: ClosedRange<Int64>
    ) throws(Failure) -> Int64 {
        try number(path, allowed, "a whole number", Int64.init)
    }

    package mutating func decimalNumber(
        _ path: String, _ allowed: ClosedRange<Double>
    ) throws(Failure) -> Double {
        try number(path, allowed, "a number", Double.init)
    }

    private mutating func number<Value: Comparable>(
        _ path: String, _ allowed: ClosedRange<Value>, _ kind: String, _ parse: (String) -> Value?
    ) throws(Failure) -> Value {
        try expect(.number, path)
        let start = index
        let text = try number()
        guard let value = parse(text), allowed.contains(value) else {
            throw fieldFailure(
                at: start, path, "given \(text.prefix(40))",
                allowed: "\(kind), \(allowed.lowerBound) to \(allowed.upperBound)")
        }
        return value
    }
}
