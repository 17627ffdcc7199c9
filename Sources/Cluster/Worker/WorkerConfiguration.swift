package import CoordinatorClient
package import Model
package import Storage
package import Transfer

extension WorkerService {
    package struct Configuration: Sendable {
        /// URLs of coordinators; the next one is used if one is down.
        package var coordinators: [String]
        package var token: AccessToken
        /// Files for https coordinators.
        package var tls = CoordinatorTLS()
        /// Directories that it may write to, regardless of coordinators.
        package var roots: SiteRoots
        /// Queues from which the worker leases jobs; empty for all.
        package var queues: [String]
        /// Maximum number of concurrent transfers, 1 to 1,000.
        package var connections: Int
        /// Host and process, shown in the cluster's status.
        package var name: String
        package var durability: Durability
        /// Spool and credentials of sites in buckets.
        package var buckets = BucketOptions()
        /// Files larger than this are fetched in parts of this size, in bytes.
        package var partBytes: Int64
        /// Bytes per second above which one connection fetches a large file without splitting it;
        /// infinite to always split.
        package var splitBelowBytesPerSecond: Double
        /// Maximum time for running jobs after `drain()`, in seconds.
        package var drainSeconds: Double
        /// Addresses that transfers may connect to.
        package var addressPolicy = AddressPolicy()
        /// Settings for requests to origins. They stay in this process.
        package var origins = OriginSettingsTable()
        package var traces = TraceUse.off
        /// True if the process does nothing else: its CPU time is this worker's.
        package var isAlone = false
        /// Sends its shards of load tests; nil for an engine in this process.
        package var loadShards: (any LoadShardRunner)?

        package init(
            coordinators: [String], token: AccessToken, roots: SiteRoots, queues: [String] = [],
            connections: Int = 32, name: String, durability: Durability = .batch,
            partBytes: Int64 = PartSize.workers.bytes,
            splitBelowBytesPerSecond: Double = 200e6, drainSeconds: Double = 20
        ) {
            self.coordinators = coordinators
            self.token = token
            self.roots = roots
            self.queues = queues
            self.connections = connections
            self.name = name
            self.durability = durability
            self.partBytes = partBytes
            self.splitBelowBytesPerSecond = splitBelowBytesPerSecond
            self.drainSeconds = drainSeconds
        }
    }
}
