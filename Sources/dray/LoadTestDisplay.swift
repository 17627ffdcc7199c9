import LoadTest
import Runtime

/// Shows a load test while it runs.
///
/// Safe to use from any thread.
final class LoadTestDisplay: Sendable {
    private let isQuiet: Bool

    init(isQuiet: Bool, _ scenario: LoadScenario) { self.isQuiet = isQuiet }

    func begin(_ step: String?, _ scenario: LoadScenario) {
        if !isQuiet, let step { Console.note("with \(step)") }
    }

    func show(_ interval: LoadInterval, _ result: LoadResult) {}

    func end() {}
}
