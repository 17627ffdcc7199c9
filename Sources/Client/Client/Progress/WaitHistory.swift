import API
import Model

/// Records the reasons for which a followed catalog waited. Pure: the times are passed in.
///
/// Waits under a second are not shown: between two jobs a catalog is idle for a moment. They are added
/// up by the time of the catalog's run, of which they are a part.
struct WaitHistory {
    /// Total time of one reason.
    struct Total: Encodable, Equatable {
        /// Name of the reason, as in `CatalogWait.Reason.name`.
        var reason: String
        var seconds: Double
    }

    private static let minSeconds = 1.0

    private var since: Double?
    /// Seconds of the run up to which waits are counted.
    private var countedSeconds = 0.0
    private var secondsByReason: [String: Double] = [:]
    /// The present waits, the one that ends last first.
    private(set) var current: [CatalogWait] = []

    /// Total times by reason, the longest first. Among simultaneous reasons, the one that ends last
    /// counts.
    var totals: [Total] {
        secondsByReason.map { Total(reason: $0.key, seconds: ($0.value * 1_000).rounded() / 1_000) }
            .sorted { ($1.seconds, $0.reason) < ($0.seconds, $1.reason) }
    }

    /// Applies the waits of a status received at `seconds` of any steady clock, when the catalog had
    /// run for `runSeconds`.
    mutating func update(
        _ waits: [CatalogWait], atSeconds seconds: Double, ofRun runSeconds: Double
    ) {
        count(upTo: runSeconds)
        guard !waits.isEmpty else {
            (since, current) = (nil, [])
            return
        }
        guard let since else {
            (self.since, countedSeconds) = (seconds, runSeconds)
            return
        }
        guard seconds - since >= Self.minSeconds else { return }
        current = waits
        count(upTo: runSeconds)
    }

    private mutating func count(upTo runSeconds: Double) {
        guard let first = current.first else { return }
        // The seconds of another run start from 0.
        secondsByReason[first.reason.name, default: 0] += max(runSeconds - countedSeconds, 0)
        countedSeconds = runSeconds
    }
}
