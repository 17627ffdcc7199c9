import Model

/// Times of load tests, in seconds.
package struct LoadTestTimes: Sendable {
    /// Time between the decision and the start: every worker must learn the start by then.
    package var leadSeconds = 2.0
    /// Time between a change of the load and its effect: every worker must learn of it by then.
    package var changeSeconds = 2.0
    /// A shard without reports for this time is lost.
    package var silentSeconds = WireLimits.loadSilentSeconds
    /// A test without a follower for this time is stopped.
    package var followedSeconds = 20.0
    /// Beyond its duration, a test is stopped.
    package var overtimeSeconds = 120.0
    /// A shard that still runs this long after its stop was requested is lost.
    package var stoppingSeconds = 30.0

    package init() {}
}

/// Shards of a test by state.
struct ShardCounts {
    var joined = 0
    var ready = 0
    var running = 0
    /// The failure of one that failed.
    var failure: Failure?

    var underWay: Int { joined + ready + running }
}
