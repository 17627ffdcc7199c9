import CommandLine
import Model

extension LoadTestOptions {
    /// Fields of a scenario, each with the option that overrides it.
    private static let fields: [(field: String, option: String)] = [
        ("warmUpSeconds", "warm-up"), ("http.concurrency", "concurrency"),
        ("http.caFile", "ca-file"), ("bodies", "check-digests"), ("thinkTime", "think"),
        ("viewers.bufferSeconds", "buffer"), ("viewers.bufferSeconds", "startup"),
    ]

    /// Converts an error in a field of the scenario to one for its option: users of the option
    /// never saw the field, and a scenario's field can be overridden by it. Returns other errors
    /// unchanged.
    static func inOptions(_ error: any Error, _ arguments: Arguments) -> any Error {
        guard let failure = error as? Failure, failure.code == .inputField,
            case .field(let name)? = failure.location
        else { return error }
        let options = fields.filter { $0.field == name }.map(\.option)
        guard let first = options.first else { return error }
        let allowed = failure.allowed.map { "Allowed: \($0)." } ?? failure.code.row.hint
        guard let option = options.first(where: { arguments.flag($0) }) else {
            return UsageError(
                "\(FailureLocation.field(name)): \(failure.detail)",
                hint: "\(allowed) --\(first) overrides the scenario.")
        }
        // A flag has no value that could be wrong.
        return UsageError(
            option == "check-digests"
                ? "--\(option) has nothing to check" : "--\(option): \(failure.detail)",
            hint: allowed)
    }
}
