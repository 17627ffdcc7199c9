import API
import Synchronization

/// Work that needs a worker, as this coordinator last read it. Safe from any thread.
///
/// Every answer to a worker may carry a call, so none of them costs a query.
final class CalledWork<Call: WorkCall>: Sendable {
    private let calls = Mutex<[Call]>([])

    /// Stores the database's list; returns true if it contains a new call.
    func set(_ called: [Call]) -> Bool {
        calls.withLock { calls in
            defer { calls = called }
            return !called.allSatisfy(calls.contains)
        }
    }

    /// Returns the first call for a worker of these queues that it does not know.
    func first(for queues: [String], unless isKnown: (Call) -> Bool) -> Call? {
        calls.withLock { calls in calls.first { $0.isFor(queues) && !isKnown($0) } }
    }

    /// Takes the first call for a worker of these queues that it may do: the next worker gets
    /// another, until the database's list is read again.
    func take(for queues: [String], where isAllowed: (Call) -> Bool = { _ in true }) -> Call? {
        calls.withLock { calls in
            calls.firstIndex { $0.isFor(queues) && isAllowed($0) }.map { calls.remove(at: $0) }
        }
    }
}
