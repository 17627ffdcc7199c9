// Hand-written codec for the usual messages of the hot path, including columns; unusual ones are
// left to Foundation.

extension LeaseRequest: WireMessage {
    func wireBytes() -> [UInt8] {
        var writer = WireTextWriter()
        writer.raw("{\"worker\":")
        writer.string(worker)
        writer.raw(",")
        writer.column("\"queues\":", Array(queues.indices)) { $0.string(queues[$1]) }
        writer.raw("\"maxJobs\":")
        writer.integer(Int64(maxJobs))
        writer.raw(",\"waitMilliseconds\":")
        writer.integer(Int64(waitMilliseconds))
        if let lease {
            writer.raw(",\"lease\":")
            writer.string(lease)
        }
        if let past = pastLoadTests {
            writer.raw(",")
            writer.column("\"pastLoadTests\":", Array(past.indices)) { $0.string(past[$1]) }
            writer.removeLast()
        }
        if let roots {
            writer.raw(",")
            writer.column("\"roots\":", Array(roots.indices)) { $0.string(roots[$1]) }
            writer.removeLast()
        }
        if let sites = refusedSites {
            writer.raw(",")
            writer.column("\"refusedSites\":", Array(sites.indices)) {
                $0.integer(sites[$1].rawValue)
            }
            writer.removeLast()
        }
        // Rare, so Foundation reads it.
        if let slow {
            writer.raw(",\"slow\":{")
            writer.column("\"origins\":", Array(slow.origins.indices)) {
                $0.string(slow.origins[$1])
            }
            writer.raw("\"maxJobs\":")
            writer.integer(Int64(slow.maxJobs))
            writer.raw("}")
        }
        writer.raw("}")
        return writer.bytes
    }

    static func reading(_ bytes: [UInt8]) -> LeaseRequest? {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = WireTextReader(bytes)
            var worker: String?
            var queues: [String]?
            var maxJobs: Int64?
            var waitMilliseconds: Int64?
            var lease: String?
            var past: [String]?
            var roots: [String]?
            var refused: [SiteID]?
            let isRead = reader.object { reader, name in
                if name.isName("worker") { return reader.once(&worker) { $0.string() } }
                if name.isName("queues") {
                    return reader.once(&queues) { $0.array { $0.string() } }
                }
                if name.isName("maxJobs") { return reader.once(&maxJobs) { $0.integer() } }
                if name.isName("waitMilliseconds") {
                    return reader.once(&waitMilliseconds) { $0.integer() }
                }
                if name.isName("lease") { return reader.once(&lease) { $0.string() } }
                if name.isName("pastLoadTests") {
                    return reader.once(&past) { $0.array { $0.string() } }
                }
                if name.isName("roots") {
                    return reader.once(&roots) { $0.array { $0.string() } }
                }
                if name.isName("refusedSites") {
                    return reader.once(&refused) { $0.array { $0.integer().map { SiteID($0) } } }
                }
                return false
            }
            guard isRead, reader.isAtEnd, let worker, let queues, let maxJobs, let waitMilliseconds
            else { return nil }
            var request = LeaseRequest(
                worker: worker, queues: queues, maxJobs: Int(maxJobs),
                waitMilliseconds: Int(waitMilliseconds), lease: lease)
            request.pastLoadTests = past
            request.roots = roots
            request.refusedSites = refused
            return request
        }
    }
}

extension LeaseGrant {
    func writeRest(to writer: inout WireTextWriter) -> Bool {
        guard shares?.isEmpty != false, cooling?.isEmpty != false, siteShares == nil,
            siteSpace == nil, loadTest == nil, seconds.isFinite, waitedSeconds.isFinite
        else { return false }
        if let lease {
            writer.raw("\"lease\":")
            writer.string(lease)
            writer.raw(",")
        }
        if let cluster {
            writer.raw("\"cluster\":")
            writer.string(cluster)
            writer.raw(",")
        }
        if let siteVolume {
            writer.raw("\"siteVolume\":")
            writer.string(siteVolume)
            writer.raw(",")
        }
        writer.raw("\"seconds\":")
        writer.number(seconds)
        writer.raw(",\"waitedSeconds\":")
        writer.number(waitedSeconds)
        writer.raw(",\"sites\":{")
        for (site, url) in sites {
            writer.string(site)
            writer.raw(":")
            writer.string(url)
            writer.raw(",")
        }
        if !sites.isEmpty { writer.removeLast() }
        writer.raw("},\"jobs\":[],")
        return true
    }

    static func readWhole(_ reader: inout WireTextReader) -> LeaseGrant? {
        var lease: String?
        var cluster: String?
        var siteVolume: String?
        var seconds: Double?
        var waitedSeconds: Double?
        var sites: [String: String]?
        var noJobs: [Job]?
        var rows: [PlacedRows<Job>]?
        let isRead = reader.object { reader, name in
            if name.isName("lease") { return reader.once(&lease) { $0.string() } }
            if name.isName("cluster") { return reader.once(&cluster) { $0.string() } }
            if name.isName("siteVolume") { return reader.once(&siteVolume) { $0.string() } }
            if name.isName("seconds") { return reader.once(&seconds) { $0.number() } }
            if name.isName("waitedSeconds") { return reader.once(&waitedSeconds) { $0.number() } }
            if name.isName("sites") { return reader.once(&sites) { $0.strings() } }
            if name.isName("jobs") { return reader.once(&noJobs) { $0.array { _ in nil } } }
            if name.isName("fetches") {
                return reader.once(&rows) { $0.array(Self.readColumns) }
            }
            return false
        }
        guard isRead, let seconds, let waitedSeconds, let sites, noJobs != nil,
            let jobs = merged(rows ?? [], with: [])
        else { return nil }
        var grant = LeaseGrant(lease: lease, seconds: seconds, sites: sites, jobs: jobs)
        grant.waitedSeconds = waitedSeconds
        grant.cluster = cluster
        grant.siteVolume = siteVolume
        return grant
    }
}

extension ReportRequest {
    func writeRest(to writer: inout WireTextWriter) -> Bool {
        writer.raw("\"worker\":")
        writer.string(worker)
        writer.raw(",\"results\":[],")
        return true
    }

    static func readWhole(_ reader: inout WireTextReader) -> ReportRequest? {
        var worker: String?
        var noResults: [JobReport]?
        var rows: [PlacedRows<JobReport>]?
        let isRead = reader.object { reader, name in
            if name.isName("worker") { return reader.once(&worker) { $0.string() } }
            if name.isName("results") {
                return reader.once(&noResults) { $0.array { _ in nil } }
            }
            if name.isName("done") { return reader.once(&rows) { $0.array(Self.readColumns) } }
            return false
        }
        guard isRead, let worker, noResults != nil, let results = merged(rows ?? [], with: [])
        else { return nil }
        return ReportRequest(worker: worker, results: results)
    }
}
