// On the wire, what makes up nearly all of the hot path, plain fetches and their results, travels in
// columns: an array a field instead of an object a job. That is a third of the bytes, and a fraction
// of the work of reading keys. Whatever is out of the ordinary stays an object of its own; each
// column says at which places of the whole list its rows stand.

/// Fetches of whole objects, of which nothing is known but what was stored before, all or none.
private struct FetchColumns: Codable {
    var site: SiteID
    var role: SegmentRole
    var place: [Int] = []
    var id: [JobID] = []
    var asset: [AssetID] = []
    var attempt: [Int] = []
    var url: [String] = []
    /// Empty where it is the URL without its scheme.
    var key: [String] = []
    /// Both absent, or as long as the others.
    var knownBytes: [Int64]?
    var knownSHA256: [String]?

    init(site: SiteID, role: SegmentRole) {
        self.site = site
        self.role = role
    }

    mutating func append(_ job: Job, at index: Int) {
        place.append(index)
        id.append(job.id)
        asset.append(job.asset)
        attempt.append(job.attempt)
        url.append(job.url)
        key.append(job.key == Self.derivedKey(of: job.url) ? "" : job.key)
        if let known = job.known {
            if knownBytes == nil { (knownBytes, knownSHA256) = ([], []) }
            knownBytes?.append(known.bytes)
            knownSHA256?.append(known.sha256)
        }
    }

    /// Whether a plain job of this role can stand in these columns.
    func takes(_ job: Job, _ role: SegmentRole) -> Bool {
        site == job.site && self.role == role && (knownBytes != nil) == (job.known != nil)
    }

    static func derivedKey(of url: String) -> Substring {
        url.dropFirst(url.hasPrefix("https://") ? 8 : 7)
    }

    static func isPlain(_ job: Job) -> Bool {
        job.kind == .fetch && job.role != nil && job.assetKind == nil && job.offset == nil
            && job.length == nil && job.sha256 == nil && job.assembly == nil
    }

    func fill(_ list: inout PlacedList<Job>) {
        guard place.count == id.count, id.count == asset.count, id.count == attempt.count,
            id.count == url.count, id.count == key.count,
            knownBytes?.count ?? id.count == id.count,
            knownBytes?.count == knownSHA256?.count
        else { return list.isBroken = true }
        for row in place.indices {
            var job = Job(
                id: id[row], kind: .fetch, site: site, asset: asset[row], attempt: attempt[row],
                url: url[row],
                key: key[row].isEmpty ? String(Self.derivedKey(of: url[row])) : key[row])
            job.role = role
            if let knownBytes, let knownSHA256 {
                job.known = StoredObject(bytes: knownBytes[row], sha256: knownSHA256[row])
            }
            list.put(job, at: place[row])
        }
    }
}

/// Results of fetches that were stored.
private struct DoneColumns: Codable {
    var lease: LeaseID
    var adopted: Bool
    var place: [Int] = []
    var job: [JobID] = []
    var bytes: [Int64] = []
    var sha256: [String] = []

    init(lease: LeaseID, adopted: Bool) {
        self.lease = lease
        self.adopted = adopted
    }

    mutating func append(_ report: JobReport, _ stored: StoredObject, at index: Int) {
        place.append(index)
        job.append(report.job)
        bytes.append(stored.bytes)
        sha256.append(stored.sha256)
    }

    func fill(_ list: inout PlacedList<JobReport>) {
        guard place.count == job.count, job.count == bytes.count, job.count == sha256.count else {
            return list.isBroken = true
        }
        for row in place.indices {
            var report = JobReport(job: job[row], lease: lease, outcome: .done)
            report.stored = StoredObject(bytes: bytes[row], sha256: sha256[row])
            if adopted { report.adopted = true }
            list.put(report, at: place[row])
        }
    }
}

/// A list that is put together from rows that know their places and others that fill the gaps.
private struct PlacedList<Element> {
    private var slots: [Element?]
    var isBroken = false

    init(count: Int) { slots = Array(repeating: nil, count: max(0, count)) }

    mutating func put(_ element: Element, at place: Int) {
        guard slots.indices.contains(place), slots[place] == nil else { return isBroken = true }
        slots[place] = element
    }

    /// The whole list, with `others` in the gaps; nil when they do not fit.
    func filled(with others: [Element]) -> [Element]? {
        var rest = others[...]
        let whole = slots.compactMap { $0 ?? rest.popFirst() }
        return !isBroken && rest.isEmpty && whole.count == slots.count ? whole : nil
    }
}

private func brokenColumns(_ path: [any CodingKey]) -> DecodingError {
    .dataCorrupted(
        .init(codingPath: path, debugDescription: "the columns do not fit together"))
}

extension LeaseGrant {
    private enum CodingKeys: String, CodingKey {
        case lease, seconds, waitedSeconds, sites, jobs, fetches, shares, cooling
    }

    package func encode(to encoder: any Encoder) throws {
        var columns: [FetchColumns] = []
        var others: [Job] = []
        for (index, job) in jobs.enumerated() {
            guard FetchColumns.isPlain(job), let role = job.role else {
                others.append(job)
                continue
            }
            if columns.last?.takes(job, role) != true {
                columns.append(FetchColumns(site: job.site, role: role))
            }
            columns[columns.count - 1].append(job, at: index)
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(lease, forKey: .lease)
        try container.encode(seconds, forKey: .seconds)
        try container.encode(waitedSeconds, forKey: .waitedSeconds)
        try container.encode(sites, forKey: .sites)
        try container.encode(others, forKey: .jobs)
        if !columns.isEmpty { try container.encode(columns, forKey: .fetches) }
        if let shares, !shares.isEmpty { try container.encode(shares, forKey: .shares) }
        if let cooling, !cooling.isEmpty { try container.encode(cooling, forKey: .cooling) }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let others = try container.decode([Job].self, forKey: .jobs)
        let columns = try container.decodeIfPresent([FetchColumns].self, forKey: .fetches) ?? []
        var list = PlacedList<Job>(count: others.count + columns.reduce(0) { $0 + $1.place.count })
        for group in columns { group.fill(&list) }
        guard let jobs = list.filled(with: others) else {
            throw brokenColumns(container.codingPath)
        }
        self.init(
            lease: try container.decodeIfPresent(LeaseID.self, forKey: .lease),
            seconds: try container.decode(Double.self, forKey: .seconds),
            sites: try container.decode([String: String].self, forKey: .sites), jobs: jobs)
        waitedSeconds = try container.decode(Double.self, forKey: .waitedSeconds)
        shares = try container.decodeIfPresent([OriginShare].self, forKey: .shares)
        cooling = try container.decodeIfPresent([OriginCooldown].self, forKey: .cooling)
    }
}

extension ReportRequest {
    private enum CodingKeys: String, CodingKey { case worker, results, done }

    package func encode(to encoder: any Encoder) throws {
        var columns: [DoneColumns] = []
        var others: [JobReport] = []
        for (index, report) in results.enumerated() {
            guard report.outcome == .done, let stored = report.stored else {
                others.append(report)
                continue
            }
            let adopted = report.adopted ?? false
            let group =
                columns.firstIndex { $0.lease == report.lease && $0.adopted == adopted }
                ?? columns.count
            if group == columns.count {
                columns.append(DoneColumns(lease: report.lease, adopted: adopted))
            }
            columns[group].append(report, stored, at: index)
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(worker, forKey: .worker)
        try container.encode(others, forKey: .results)
        if !columns.isEmpty { try container.encode(columns, forKey: .done) }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let others = try container.decode([JobReport].self, forKey: .results)
        let columns = try container.decodeIfPresent([DoneColumns].self, forKey: .done) ?? []
        let count = others.count + columns.reduce(0) { $0 + $1.place.count }
        var list = PlacedList<JobReport>(count: count)
        for group in columns { group.fill(&list) }
        guard let results = list.filled(with: others) else {
            throw brokenColumns(container.codingPath)
        }
        self.init(worker: try container.decode(WorkerID.self, forKey: .worker), results: results)
    }
}
