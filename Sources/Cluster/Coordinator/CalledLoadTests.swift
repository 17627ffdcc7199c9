import API
import Model
import Synchronization

/// Load tests that need workers, as this coordinator last read them. Safe from any thread.
///
/// Every answer to a worker may carry one, so none of them costs a query.
final class CalledLoadTests: Sendable {
    private let calls = Mutex<[LoadTestCall]>([])
    /// Fired when a load test has changed.
    let changeSignal = WorkSignal()

    /// Stores the database's list; returns true if it contains a new test.
    func set(_ called: [LoadTestCall]) -> Bool {
        calls.withLock { calls in
            defer { calls = called }
            return !called.allSatisfy(calls.contains)
        }
    }

    /// Returns those for a worker of these queues, all without queues; nil for none.
    func all(for queues: [String]) -> [LoadTestCall]? {
        let calls = calls.withLock(\.self)
        guard !calls.isEmpty else { return nil }
        let meant = calls.filter { $0.isFor(queues) }
        return meant.isEmpty ? nil : meant
    }

    /// Returns the first test for the requesting worker.
    func first(for request: LeaseRequest) -> LoadTestCall? {
        guard let past = request.pastLoadTests else { return nil }
        return calls.withLock { calls in
            calls.first { $0.isFor(request.queues) && !past.contains($0.id) }
        }
    }
}
