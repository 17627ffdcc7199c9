internal import Dispatch
package import Testing

/// Runs a test, or a suite's tests, on threads of their own: for tests that compute for seconds.
///
/// The threads of the concurrency pool, one for each processor, would serve nothing else meanwhile,
/// and tests that wait for an answer would see none.
package struct ComputingTrait: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(ComputingExecutor.shared) { try await function() }
    }
}

extension Trait where Self == ComputingTrait {
    /// Runs the test on a thread of its own.
    package static var computing: Self { Self() }
}

private final class ComputingExecutor: TaskExecutor {
    static let shared = ComputingExecutor()

    private let queue = DispatchQueue(label: "computing", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
