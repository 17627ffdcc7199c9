import Model
import Synchronization

/// Origins whose failures others have heard of: these hear of it when one serves again. Safe from any thread.
final class SuspectOrigins: Sendable {
    private let names = Mutex<Set<String>>([])

    /// When there are more, all are forgotten.
    static let maximumCount = 1_000

    func add(_ origins: some Sequence<String>) {
        names.withLock { names in
            if names.count > Self.maximumCount { names = [] }
            names.formUnion(origins)
        }
    }

    /// Which origins served a file that came whole, the last of them `origin`, and which have failed before; nil
    /// when it is the job's own origin's alone.
    func served(by origin: String?, _ course: MirrorCourse) -> [OriginOutcome]? {
        names.withLock { names in
            let outcomes = course.served(by: origin) { names.contains($0) }
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
