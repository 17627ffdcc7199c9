import Model
import Planner
import Text

extension Failure {
    /// Creates an `input.field` whose advice is what the planner allows.
    init(_ error: PlannerError) {
        let allowed = error.allowed
        let end = allowed.last.map { ".?".contains($0) } ?? true ? "" : "."
        self.init(
            .inputField, "\(error.field) is \(error.given)",
            hint: allowed.prefix(1).uppercased() + allowed.dropFirst() + end)
    }

    /// Returns the same failure with the name of the file that it is in; `-` is stdin.
    func inFile(_ path: String) -> Failure {
        with(message: "\(path == "-" ? "stdin" : printable(path)): \(message)")
    }
}
