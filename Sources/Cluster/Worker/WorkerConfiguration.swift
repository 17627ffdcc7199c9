package import Model
package import Storage
package import Transfer

extension WorkerService {
    package struct Configuration: Sendable {
        /// URLs of coordinators; the next one is asked when one is down.
        package var coordinators: [String]
        package var token: AccessToken
        /// What it may write to, whatever a coordinator asks for.
        package var roots: SiteRoots
        /// Queues to take jobs from; empty means all.
        package var queues: [String]
        /// Transfers at a time, 1 to 1,000.
        package var connections: Int
        /// Shown in the cluster's status: host and process.
        package var name: String
        package var durability: Durability
        /// Files larger than this are fetched in parts of this size, in bytes.
        package var partBytes: Int64
        /// A connection that is this fast fetches a large file alone, in bytes a second; infinite for
        /// parts in any case.
        package var splitBelowBytesPerSecond: Double
        /// Longest that work in hand may take after `drain`, in seconds.
        package var drainSeconds: Double
        /// What transfers may connect to.
        package var addressPolicy = AddressPolicy()
        /// How origins are asked. They stay with this process.
        package var origins = OriginSettingsTable()
        /// The process does nothing but this worker's work: its CPU time is what the work takes.
        package var isAlone = false
        /// What sends its parts of load tests; nil for an engine in this process.
        package var loadShares: (any LoadShareRunner)?

        package init(
            coordinators: [String], token: AccessToken, roots: SiteRoots, queues: [String] = [],
            connections: Int = 32, name: String, durability: Durability = .batch,
            partBytes: Int64 = 64 << 20,
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
