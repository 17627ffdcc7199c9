import Model

/// Why nothing of a catalog was under way while it was followed. Pure: the time is passed in.
///
/// What is over within a second is not shown: between two jobs a catalog has nothing under way for a moment.
struct WaitHistory {
    /// The waits of one kind together.
    struct Total: Encodable, Equatable {
        /// As `CatalogWait.Reason.name` has it.
        var reason: String
        var seconds: Double
    }

    private static let leastSeconds = 1.0

    private var since: Double?
    private var countedSeconds = 0.0
    private var secondsByReason: [String: Double] = [:]
    /// What it waits for now, that which ends last first.
    private(set) var current: [CatalogWait] = []

    /// How long the catalog waited, the longest first. Where several reasons held at once, that which was to end last
    /// counts.
    var totals: [Total] {
        secondsByReason.map { Total(reason: $0.key, seconds: ($0.value * 1_000).rounded() / 1_000) }
            .sorted { ($1.seconds, $0.reason) < ($0.seconds, $1.reason) }
    }

    /// Takes the waits of a status that came at `seconds` of any steady clock.
    mutating func update(_ waits: [CatalogWait], atSeconds seconds: Double) {
        count(upTo: seconds)
        guard !waits.isEmpty else {
            (since, current) = (nil, [])
            return
        }
        guard let since else {
            (self.since, countedSeconds) = (seconds, seconds)
            return
        }
        guard seconds - since >= Self.leastSeconds else { return }
        current = waits
        count(upTo: seconds)
    }

    private mutating func count(upTo seconds: Double) {
        guard let first = current.first else { return }
        secondsByReason[first.reason.name, default: 0] += seconds - countedSeconds
        countedSeconds = seconds
    }
}
