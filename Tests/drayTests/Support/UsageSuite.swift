import TestSupport

/// How the built binary answered.
struct UsageAnswer {
    let ending: ChildProcess.Ending
    let output: String
    let errors: String
}

/// Runs the built binary in a directory of its own, which it is not to write to.
protocol UsageSuite {
    var directory: TemporaryDirectory { get }
}

extension UsageSuite {
    func dray(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> UsageAnswer {
        let process = try DrayProcess.start(
            arguments, environment: environment, workingDirectory: directory.path)
        let ending = try await process.wait()
        return UsageAnswer(ending: ending, output: process.output, errors: process.errors)
    }

    var names: Set<String> {
        get throws { try Set(directory.files()) }
    }
}
