import API
import Model

/// Checks of heartbeats.
extension Validation {
    static func check(_ heartbeat: Heartbeat) throws(Failure) {
        try text(heartbeat.name, "name", 1...200)
        try range(heartbeat.leases.count, "leases", 0...WireLimits.leasesPerHeartbeat)
        try range(heartbeat.activeTransfers, "activeTransfers", 0...1_000_000)
        try range(heartbeat.idleConnections ?? 0, "idleConnections", 0...1_000_000)
        try range(heartbeat.surplusJobs ?? 0, "surplusJobs", 0...1_000_000)
        if let issue = heartbeat.issue {
            try text(issue.code.rawValue, "issue.code", 1...100)
            try text(issue.message, "issue.message", 0...WireLimits.reasonCharacters)
        }
        if let version = heartbeat.version { try text(version, "version", 1...100) }
        try roots(heartbeat.roots, refused: heartbeat.refusedSites)
        if let names = heartbeat.queues { try queues(names) }
        if let done = heartbeat.done { try check(done) }
        try check(runs: heartbeat.runs ?? [])
        try check(origins: heartbeat.origins ?? [])
        try check(shares: heartbeat.originShares ?? [])
        let shares = heartbeat.siteShares ?? []
        try range(shares.count, "siteShares", 0...WireLimits.sitesPerHeartbeat)
        let sites = heartbeat.sites ?? []
        try range(sites.count, "sites", 0...WireLimits.sitesPerHeartbeat)
        for site in sites {
            try range(Int(site.availableBytes ?? 0), "sites.availableBytes", 0...1 << 60)
        }
        try range(heartbeat.progress.count, "progress", 0...10_000)
        for (asset, progress) in heartbeat.progress {
            let isSane =
                Int64(asset).map { $0 > 0 } == true && progress.receivedBytes >= 0
                && (progress.receivedBytes...max(progress.receivedBytes, maxBytes))
                    .contains(progress.expectedBytes)
                && (0...progress.receivedBytes).contains(progress.resumedBytes ?? 0)
                && (0...progress.expectedBytes).contains(progress.partBytes ?? 0)
                && (0...1_000_000).contains(progress.transfers)
                && (0...1_000_000).contains(progress.waiting ?? 0)
                && progress.transfers + (progress.waiting ?? 0) > 0
            guard isSane else {
                throw wrong(
                    "progress.\(asset)",
                    "\(progress.receivedBytes) of \(progress.expectedBytes) bytes in "
                        + "\(progress.transfers) transfers",
                    "an asset's number; bytes from 0, no more than expected; 1 transfer or more")
            }
        }
    }

    static func check(_ request: SiteVolumeRequest) throws(Failure) {
        try range(request.marks?.count ?? 0, "marks", 0...SiteVolumeRequest.maximumMarks)
        guard request.volume != nil else {
            guard request.fileSystem == nil else {
                throw wrong("fileSystem", "one without a volume", "with volume only")
            }
            return
        }
        guard request.lease != nil else { throw wrong("lease", "none", "a lease with volume") }
    }

    private static func check(_ done: WorkDone) throws(Failure) {
        let amounts = [
            Double(done.fetches), Double(done.bytes), done.busySeconds, done.seconds,
            done.seconds2, done.seconds3, done.seconds4, done.cpuSeconds ?? 0,
        ]
        if let wrong = amounts.first(where: { !($0 >= 0 && $0 <= 1e60) }) {
            throw Self.wrong("done", "\(wrong)", "amounts of 0 and more")
        }
        try range(done.connections, "done.connections", 1...1_000_000)
        try range(done.cores, "done.cores", 1...1_000_000)
    }

    private static func check(runs: [RunWork]) throws(Failure) {
        try range(runs.count, "runs", 0...WireLimits.runsPerHeartbeat)
        guard Set(runs.map(\.run)).count == runs.count else {
            throw wrong("runs", "a run twice", "each run once")
        }
        for (index, work) in runs.enumerated() {
            let amounts = [
                Double(work.fetches), work.ageSeconds, work.seconds, work.seconds2,
                work.connectionSeconds,
            ]
            // No interval of the database is longer.
            let most = [1e15, 1e9, 1e30, 1e60, 1e30]
            for (amount, most) in zip(amounts, most) where !(amount >= 0 && amount <= most) {
                throw wrong("runs[\(index)]", "\(amount)", "amounts of 0 and more")
            }
            try range(work.connections, "runs[\(index)].connections", 1...1_000_000)
        }
    }

    private static func check(shares: [OriginQuotaUse]) throws(Failure) {
        try range(shares.count, "originShares", 0...WireLimits.originsPerHeartbeat)
        for (index, use) in shares.enumerated() {
            var field: String { "originShares[\(index)]" }
            guard originName(of: use.origin) == use.origin else {
                throw wrong("\(field).origin", use.origin, "scheme://host[:port]")
            }
            try range(use.connections, "\(field).connections", 0...1_000_000)
            try range(use.requests, "\(field).requests", 0...10_000_000)
            try range(use.active, "\(field).active", 0...1_000_000)
        }
    }

    private static func check(origins: [OriginReport]) throws(Failure) {
        try range(origins.count, "origins", 0...WireLimits.originsPerHeartbeat)
        var names: Set<String> = []
        for (index, report) in origins.enumerated() {
            var field: String { "origins[\(index)]" }
            guard originName(of: report.origin) == report.origin,
                names.insert(report.origin).inserted
            else {
                throw wrong("\(field).origin", report.origin, "scheme://host[:port], named once")
            }
            try range(report.concurrency, "\(field).concurrency", 1...1_000_000)
            try range(report.active, "\(field).active", 0...1_000_000)
            try range(report.waiting, "\(field).waiting", 0...1_000_000)
            try length(report.bytesPerSecond, "\(field).bytesPerSecond")
            guard ["raised", "lowered", "held"].contains(report.decision) else {
                throw wrong("\(field).decision", report.decision, "raised, lowered, held")
            }
            try text(report.reason, "\(field).reason", 0...WireLimits.reasonCharacters)
        }
    }
}
