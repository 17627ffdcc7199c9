import CommandLine
import LoadModel
import Model
import Text

/// Options with header lines.
extension LoadTestOptions {
    /// Parses `Name: value`.
    static func header(
        _ option: String, _ line: String
    ) throws(UsageError) -> RequestHeader {
        do throws(Failure) { return try RequestHeader(line: line) } catch {
            throw UsageError(
                "--\(option): \(printable(error.message))", hint: "Write 'Name: value'.")
        }
    }

    static func tooOften(_ option: String, _ most: Int) -> UsageError {
        UsageError(
            "--\(option) is repeated too often", hint: "Use it at most \(most) times.")
    }

    /// Returns the lines of an option with headers.
    static func headers(_ option: String, _ lines: [String]) throws(UsageError) -> [String] {
        guard lines.count <= LoadLimits.headers else {
            throw tooOften(option, LoadLimits.headers)
        }
        return try lines.map { line throws(UsageError) in try header(option, line).line }
    }
}
