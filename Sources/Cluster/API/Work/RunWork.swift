package import Model

/// A worker's total work for one run of a catalog, in its heartbeats. Counts and sums only grow, so
/// that a repeated report counts once.
package struct RunWork: Codable, Hashable, Sendable {
    package var run: RunID
    /// Seconds since its first job of the run was granted.
    package var ageSeconds = 0.0
    /// Maximum simultaneous fetches.
    package var connections: Int
    /// Successful fetches, and the sums of their seconds on the network and of the squares of
    /// these.
    package var fetches = 0
    package var seconds = 0.0
    package var seconds2 = 0.0
    /// Seconds in which its connections were in use for the run; failed attempts count too.
    package var connectionSeconds = 0.0

    package init(run: RunID, connections: Int) {
        self.run = run
        self.connections = connections
    }

    /// Adds a successful fetch, whose time on the network was counted already.
    package mutating func add(seconds value: Double) {
        fetches += 1
        seconds += value
        seconds2 += value * value
    }
}

/// `GET /v1/catalogs/{id}/work`: the work of all workers for the present or last run of a catalog,
/// from its start to its end.
package struct CatalogWork: Codable, Hashable, Sendable {
    /// Workers that had jobs of the run, and the concurrent transfers of all of them together.
    package var workers: Int
    package var connections: Int
    /// Successful fetches, and the sums of their seconds on the network and of the squares of
    /// these.
    package var fetches: Int
    package var seconds: Double
    package var seconds2: Double
    /// Seconds in which connections were in use; failed attempts count too.
    package var usedSeconds: Double
    /// Seconds of all connections of these workers, of each from its first job of the run to the
    /// run's end.
    package var connectionSeconds: Double

    package init(
        workers: Int, connections: Int, fetches: Int, seconds: Double, seconds2: Double,
        usedSeconds: Double, connectionSeconds: Double
    ) {
        self.workers = workers
        self.connections = connections
        self.fetches = fetches
        self.seconds = seconds
        self.seconds2 = seconds2
        self.usedSeconds = usedSeconds
        self.connectionSeconds = connectionSeconds
    }
}
