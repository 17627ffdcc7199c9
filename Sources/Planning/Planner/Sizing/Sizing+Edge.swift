extension Sizing {
    /// Edge servers: their kind, their number, and their disks.
    package struct Edge: Codable, Hashable, Sendable {
        /// CPU cores and network interface of a server.
        package let cores: Double
        package let megabitsPerSecond: Double
        /// Servers of all sites; one a site may fail.
        package let servers: Int
        /// Cores in use at the peak, for requests and for bytes with TLS.
        package let coresInUse: Double
        /// Disks of all servers, by capacity and by the bytes that they read.
        package let disks: Int
        /// True if their number is for the bytes that they read, not for capacity.
        package let disksAreForReads: Bool
    }

    /// A kind of edge server.
    package struct EdgeKind: Hashable, Sendable {
        package let cores: Double
        package let megabitsPerSecond: Double

        package init(cores: Double, megabitsPerSecond: Double) {
            self.cores = cores
            self.megabitsPerSecond = megabitsPerSecond
        }
    }
}

extension Sizing.Edge {
    /// The usual kinds, smallest first.
    private static let kinds: [(megabits: Double, cores: Double)] = [
        (1_000, 4), (10_000, 16), (25_000, 32), (100_000, 64),
    ]
    /// Servers of a site, without the spare one, from which on a larger kind is used.
    static let maxOfSmallerKind = 4

    init(_ values: ScenarioValues, _ demand: Demand) {
        let load = Load(values, demand)
        let megabits =
            values.known(.edgeMegabits)
            ?? Self.kinds.first { kind in
                let own = Sizing.EdgeKind(
                    cores: values.known(.edgeCores) ?? kind.cores,
                    megabitsPerSecond: kind.megabits)
                return load.servers(own) <= Self.maxOfSmallerKind
            }?.megabits ?? Self.kinds.last?.megabits ?? 1_000
        let kind = Sizing.EdgeKind(
            cores: values.known(.edgeCores)
                ?? Self.kinds.last { $0.megabits <= megabits }?.cores ?? 4,
            megabitsPerSecond: megabits)
        cores = kind.cores
        megabitsPerSecond = megabits
        servers = load.allServers(kind)
        coresInUse = load.cores
        let bySize = demand.edgeStorageBytes / (values[.diskGigabytes] * 1e9)
        let bySpeed = demand.peakEgressBitsPerSecond / 8 / (values[.diskMegabytes] * 1e6)
        // Each server has one disk at least, and each site the same number.
        let ofSite = max(
            wholeUp(max(bySize, bySpeed / load.used) / load.sites), servers / Int(load.sites))
        disks = ofSite * Int(load.sites)
        disksAreForReads = bySpeed / load.used > bySize && ofSite > servers / Int(load.sites)
    }

    /// The load of edge servers at the peak.
    package struct Load: Hashable, Sendable {
        package let bitsPerSecond: Double
        package let cores: Double
        let sites: Double
        /// Share of the capacity that may be in use.
        let used: Double

        package init(_ values: ScenarioValues, _ demand: Demand) {
            bitsPerSecond = demand.peakEgressBitsPerSecond
            cores =
                demand.peakRequestsPerSecond / values[.edgeRequestsPerCore]
                + bitsPerSecond / 8e9 * values[.edgeCPUPerGigabyte]
            sites = values[.sites]
            used = 1 - values[.headroom]
        }

        /// Returns the servers of one site, without a spare one.
        func servers(_ kind: Sizing.EdgeKind, used: Double) -> Int {
            let need = max(
                bitsPerSecond / (kind.megabitsPerSecond * 1e6), cores / kind.cores)
            return max(1, wholeUp(need / used / sites))
        }

        func servers(_ kind: Sizing.EdgeKind) -> Int { servers(kind, used: used) }

        /// Returns the servers of all sites, with a spare one each.
        package func allServers(_ kind: Sizing.EdgeKind) -> Int {
            (servers(kind) + 1) * Int(sites)
        }
    }
}
