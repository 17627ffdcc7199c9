internal import LoadModel

/// The limits of one loop of a load generator.
struct LoopCapacity {
    /// Maximum number of concurrent requests.
    let requests: Int
    /// Maximum number of concurrent viewers of the open model.
    let viewers: Int
    let connections: Int
    /// True if each viewer's first request opens a connection.
    let opensConnections: Bool
    /// Number of libcurl multi handles that connections are spread over.
    let multis: Int

    private static let usualConnectionsOfMulti = 64
    /// Limit for a process with few threads: each multi handle has two descriptors.
    private static let maxMultis = 64

    /// - Parameter part: the loop's part of this process's limits.
    init(
        _ plan: LoadPlan, _ scenario: LoadScenario, of part: LoadShard,
        _ options: LoadEngine.Options
    ) {
        // Divided like users: if the slots suffice for all users, each loop has enough for its own.
        requests = max(1, Int(part.portion(of: Int64(scenario.concurrency))))
        viewers = max(1, Int(part.portion(of: Int64(options.maxViewers))))
        if case .viewers(let settings) = scenario.user, scenario.http.keepsAlive {
            opensConnections = settings.opensConnection
        } else {
            opensConnections = false
        }
        connections =
            opensConnections
            ? max((options.viewerConnections - 3 * Self.maxMultis) / part.count, requests)
            : requests
        // HTTP/2 requests without an owner share as few connections as their streams allow.
        let mayShare =
            scenario.http.version == .http2
            || scenario.http.version == .automatic
                && plan.objects.contains { !$0.url.hasPrefix("http://") }
        var owners = viewers
        if case .closed = scenario.model {
            owners = Int(part.portion(of: Int64(scenario.concurrencyForUsers)))
        }
        multis =
            mayShare && !opensConnections
            ? 1
            : max(
                min(
                    min(connections, owners) / Self.usualConnectionsOfMulti,
                    Self.maxMultis / part.count), 1)
    }
}
