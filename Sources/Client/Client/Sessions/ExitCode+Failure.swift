import CommandLine
import Model

extension ExitCode {
    /// The exit code of a command that ended with this failure.
    init(_ code: FailureCode) {
        if code == .workerCancelled {
            self = .interrupted
            return
        }
        self =
            switch code.family {
            case "input", "storage": .usage
            case "origin", "content", "integrity": .someFailed
            default: .noCluster
            }
    }
}
