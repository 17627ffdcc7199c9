import Model

extension FailureCode {
    /// First digit of the origin's HTTP status; nil for other failures.
    var httpStatusClass: Int? {
        let parts = rawValue.split(separator: ".")
        guard parts.count == 3, parts[0] == "origin", parts[1] == "http" else { return nil }
        return parts[2].first?.wholeNumberValue
    }
}
