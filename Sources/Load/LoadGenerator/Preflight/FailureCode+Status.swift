import Model

extension FailureCode {
    /// The first digit of the HTTP status that the origin answered with; nil of every other failure.
    var httpStatusClass: Int? {
        let parts = rawValue.split(separator: ".")
        guard parts.count == 3, parts[0] == "origin", parts[1] == "http" else { return nil }
        return parts[2].first?.wholeNumberValue
    }
}
