import API
import Model
import Synchronization

/// Origins whose failures other workers know: they also learn of the next success. Safe from any
/// thread.
final class SuspectOrigins: Sendable {
    private let names = Mutex<Set<String>>([])

    /// Number of names beyond which all are removed.
    static let maximumCount = 1_000

    func add(_ origins: some Sequence<String>) {
        names.withLock { names in
            if names.count > Self.maximumCount { names = [] }
            names.formUnion(origins)
        }
    }

    /// Returns the origins that served a complete file, and those that failed before. `origin` is
    /// the last one, after redirects. Returns nil if only the job's own origin gets the credit.
    func served(by origin: String?, _ plan: MirrorPlan) -> [OriginOutcome]? {
        names.withLock { names in
            let outcomes = plan.served(by: origin) { names.contains($0) }
            for outcome in outcomes ?? [] {
                if outcome.code == nil {
                    names.remove(outcome.origin)
                } else if names.count < Self.maximumCount {
                    names.insert(outcome.origin)
                }
            }
            return outcomes
        }
    }
}
