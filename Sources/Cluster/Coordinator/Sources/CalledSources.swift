import API
import Model
import Synchronization

/// Sources that need a worker, as this coordinator last read them. Safe from any thread.
final class CalledSources: Sendable {
    private let calls = Mutex<[SourceCall]>([])

    /// Stores the database's list; returns true if it contains a new source.
    func set(_ called: [SourceCall]) -> Bool {
        calls.withLock { calls in
            defer { calls = called }
            return !called.allSatisfy(calls.contains)
        }
    }

    /// Takes the first source for the requesting worker: the next one gets another, until the
    /// database's list is read again.
    func take(for request: LeaseRequest) -> SourceCall? {
        guard request.takesSources else { return nil }
        return calls.withLock { calls in
            let index = calls.firstIndex { $0.isFor(request.queues) }
            return index.map { calls.remove(at: $0) }
        }
    }
}
