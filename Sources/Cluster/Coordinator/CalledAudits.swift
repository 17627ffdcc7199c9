import API
import Model
import Synchronization

/// Audits that need a worker, as this coordinator last read them. Safe from any thread.
///
/// Every answer to a worker may carry one, so none of them costs a query.
final class CalledAudits: Sendable {
    private let calls = Mutex<[SiteAuditCall]>([])

    /// Stores the database's list; returns true if it contains a new audit.
    func set(_ called: [SiteAuditCall]) -> Bool {
        calls.withLock { calls in
            defer { calls = called }
            return !called.allSatisfy(calls.contains)
        }
    }

    /// Returns the first audit for the requesting worker.
    func first(for request: LeaseRequest) -> SiteAuditCall? {
        guard let past = request.pastAudits else { return nil }
        return calls.withLock { calls in
            calls.first { $0.isFor(request.queues) && !past.contains($0.id) }
        }
    }
}
