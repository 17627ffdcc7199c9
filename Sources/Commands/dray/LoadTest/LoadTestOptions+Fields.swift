import CommandLine
import Model

extension LoadTestOptions {
    /// Fields of a scenario, each with the option that goes before it.
    private static let fields: [(field: String, option: String)] = [
        ("warmUpSeconds", "warm-up"), ("http.concurrency", "concurrency"),
        ("http.caFile", "ca-file"), ("bodies", "check-digests"), ("thinkTime", "think"),
        ("viewers.bufferSeconds", "buffer"), ("viewers.bufferSeconds", "startup"),
    ]

    /// What is wrong with a field of the scenario, in words of the command line: whoever gave an option has
    /// never seen the field, and who gave a scenario may change it by an option. Any other error as it is.
    static func inOptions(_ error: any Error, _ arguments: Arguments) -> any Error {
        guard let failure = error as? Failure, failure.code == "input.field",
            let name = failure.message.firstMatch(of: /^field ([^ :]+):\s/)?.output
        else { return error }
        let options = fields.filter { $0.field == name.1 }.map(\.option)
        guard let first = options.first else { return error }
        let rest = failure.message.dropFirst(name.0.count)
        let split = rest.firstRange(of: ", allowed ")
        let wrong = split.map { rest[..<$0.lowerBound] } ?? rest
        let allowed = split.map { "Allowed: \(rest[$0.upperBound...])." } ?? failure.code.row.hint
        guard let option = options.first(where: { arguments.flag($0) }) else {
            return UsageError(
                "field \(name.1): \(wrong)",
                hint: "\(allowed) --\(first) overrides the scenario.")
        }
        // A flag has no value that could be wrong.
        return UsageError(
            option == "check-digests"
                ? "--\(option) has nothing to check" : "--\(option): \(wrong)",
            hint: allowed)
    }
}
