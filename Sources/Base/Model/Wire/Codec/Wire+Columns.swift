// Plain fetches and their results are nearly all of the hot path. They travel in columns: an array
// per field instead of an object per job. That is a third of the bytes, and a fraction of the work
// of reading keys. Unusual elements stay separate objects; each column has the indices of its rows
// in the whole list.

internal import Glibc

/// Fetches of whole objects without further fields, except for the object stored before, for all or
/// none.
private struct FetchColumns: Decodable {
    var site: SiteID
    var role: SegmentRole
    var place: [Int]
    var id: [JobID]
    var asset: [AssetID]
    var attempt: [Int]
    var url: [String]
    /// Empty if it is the URL without its scheme.
    var key: [String]
    /// Both absent, or as long as the others.
    var knownBytes: [Int64]?
    var knownSHA256: [String]?

    /// The jobs; nil if the columns differ in length.
    var rows: PlacedRows<Job>? {
        guard place.count == id.count, id.count == asset.count, id.count == attempt.count,
            id.count == url.count, id.count == key.count,
            knownBytes?.count ?? id.count == id.count,
            knownBytes?.count == knownSHA256?.count
        else { return nil }
        let jobs = place.indices.map { row in
            var job = Job(
                id: id[row], kind: .fetch, site: site, asset: asset[row], attempt: attempt[row],
                url: url[row], key: key[row])
            if job.key.isEmpty { job.key = String(keyOf(job.url)) }
            job.role = role
            if let knownBytes, let knownSHA256 {
                job.known = StoredObject(bytes: knownBytes[row], sha256: knownSHA256[row])
            }
            return job
        }
        return PlacedRows(places: place, elements: jobs)
    }
}

/// Returns the key of an object stored under its origin's path: an http or https URL without its
/// scheme.
package func keyOf(_ url: String) -> Substring {
    Substring(url.utf8.dropFirst(schemeLength(url.utf8)))
}

/// Returns the length of `https://` or `http://`.
private func schemeLength(_ url: some Collection<UInt8>) -> Int {
    url.dropFirst(4).first == UInt8(ascii: "s") ? 8 : 7
}

/// Returns true if the bytes are the same, not just the characters.
private func isKey(_ key: String, of url: String) -> Bool {
    let isSame = key.utf8.withContiguousStorageIfAvailable { key in
        url.utf8.withContiguousStorageIfAvailable { url in
            let scheme = schemeLength(url)
            guard url.count == scheme + key.count, let url = url.baseAddress,
                let start = key.baseAddress
            else { return false }
            return memcmp(url + scheme, start, key.count) == 0
        }
    }
    return (isSame ?? nil) ?? key.utf8.elementsEqual(keyOf(url).utf8)
}

extension LeaseGrant: ColumnMessage {
    private enum CodingKeys: String, CodingKey {
        case lease, seconds, waitedSeconds, sites, jobs, fetches, cluster, shares, cooling,
            siteShares, siteVolume, siteSpace, loadTest, isAlone
    }

    static var columnsName: StaticString { "fetches" }

    var elements: [Job] {
        get { jobs }
        set { jobs = newValue }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(lease, forKey: .lease)
        try container.encode(seconds, forKey: .seconds)
        try container.encode(waitedSeconds, forKey: .waitedSeconds)
        try container.encode(sites, forKey: .sites)
        try container.encode(jobs, forKey: .jobs)
        try container.encodeIfPresent(cluster, forKey: .cluster)
        if let shares, !shares.isEmpty { try container.encode(shares, forKey: .shares) }
        if let cooling, !cooling.isEmpty { try container.encode(cooling, forKey: .cooling) }
        try container.encodeIfPresent(siteShares, forKey: .siteShares)
        try container.encodeIfPresent(siteVolume, forKey: .siteVolume)
        try container.encodeIfPresent(siteSpace, forKey: .siteSpace)
        try container.encodeIfPresent(loadTest, forKey: .loadTest)
        try container.encodeIfPresent(isAlone, forKey: .isAlone)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let columns = try container.decodeIfPresent([FetchColumns].self, forKey: .fetches) ?? []
        let rows = columns.compactMap(\.rows)
        guard rows.count == columns.count,
            let jobs = Self.merged(rows, with: try container.decode([Job].self, forKey: .jobs))
        else { throw Self.brokenColumns(container.codingPath) }
        self.init(
            lease: try container.decodeIfPresent(LeaseID.self, forKey: .lease),
            seconds: try container.decode(Double.self, forKey: .seconds),
            sites: try container.decode([String: String].self, forKey: .sites), jobs: jobs)
        waitedSeconds = try container.decode(Double.self, forKey: .waitedSeconds)
        cluster = try container.decodeIfPresent(ClusterID.self, forKey: .cluster)
        shares = try container.decodeIfPresent([OriginShare].self, forKey: .shares)
        cooling = try container.decodeIfPresent([OriginCooldown].self, forKey: .cooling)
        siteShares = try container.decodeIfPresent([SiteShare].self, forKey: .siteShares)
        siteVolume = try container.decodeIfPresent(VolumeID.self, forKey: .siteVolume)
        siteSpace = try container.decodeIfPresent([SiteSpace].self, forKey: .siteSpace)
        loadTest = try container.decodeIfPresent(LoadTestCall.self, forKey: .loadTest)
        isAlone = try container.decodeIfPresent(Bool.self, forKey: .isAlone)
    }

    func columnGroups() -> [[Int]] {
        var groups: [[Int]] = []
        var first: Job?
        for (index, job) in jobs.enumerated() where Self.isPlain(job) {
            if let first, first.site == job.site, first.role == job.role,
                (first.known == nil) == (job.known == nil)
            {
                groups[groups.count - 1].append(index)
            } else {
                groups.append([index])
                first = job
            }
        }
        return groups
    }

    private static func isPlain(_ job: Job) -> Bool {
        job.kind == .fetch && job.role != nil && job.assetKind == nil && job.offset == nil
            && job.length == nil && job.sha256 == nil && job.assembly == nil && job.mirrors == nil
            && job.mirrorOrigin == nil && job.digests == nil && job.isWhole == nil
            && job.formerAssembly == nil && job.isDocument == nil && job.knownValidator == nil
            && job.isKnownVerified == nil
    }

    func write(_ places: [Int], to writer: inout WireTextWriter) {
        guard let first = places.first.map({ jobs[$0] }), let role = first.role else { return }
        writer.raw("\"site\":")
        writer.integer(first.site.rawValue)
        writer.raw(",\"role\":")
        writer.string(role.rawValue)
        writer.raw(",")
        writer.column("\"place\":", places) { $0.integer(Int64($1)) }
        writer.column("\"id\":", places) { $0.integer(jobs[$1].id.rawValue) }
        writer.column("\"asset\":", places) { $0.integer(jobs[$1].asset.rawValue) }
        writer.column("\"attempt\":", places) { $0.integer(Int64(jobs[$1].attempt)) }
        writer.column("\"url\":", places) { $0.string(jobs[$1].url) }
        writer.column("\"key\":", places) { writer, place in
            let job = jobs[place]
            writer.string(isKey(job.key, of: job.url) ? "" : job.key)
        }
        guard first.known != nil else { return }
        writer.column("\"knownBytes\":", places) { $0.integer(jobs[$1].known?.bytes ?? 0) }
        writer.column("\"knownSHA256\":", places) { $0.string(jobs[$1].known?.sha256 ?? "") }
    }

    static func readColumns(_ reader: inout WireTextReader) -> PlacedRows<Job>? {
        var site: Int64?
        var role: SegmentRole?
        var numbers = (place: [Int64](), id: [Int64](), asset: [Int64](), attempt: [Int64]())
        var urls: [String] = []
        var keys: [String] = []
        var known: (bytes: [Int64]?, sha256: [String]?)
        let isRead = reader.object { reader, name in
            func integers(_ column: inout [Int64]) -> Bool {
                guard column.isEmpty, let read = reader.array({ $0.integer() }) else {
                    return false
                }
                column = read
                return true
            }
            func strings(_ column: inout [String]) -> Bool {
                guard column.isEmpty, let read = reader.array({ $0.string() }) else { return false }
                column = read
                return true
            }
            if name.isName("place") { return integers(&numbers.place) }
            if name.isName("id") { return integers(&numbers.id) }
            if name.isName("asset") { return integers(&numbers.asset) }
            if name.isName("attempt") { return integers(&numbers.attempt) }
            if name.isName("url") { return strings(&urls) }
            if name.isName("key") { return strings(&keys) }
            if name.isName("site") {
                site = reader.integer()
                return site != nil
            }
            if name.isName("role") {
                role = reader.string().flatMap(SegmentRole.init(rawValue:))
                return role != nil
            }
            if name.isName("knownBytes") {
                known.bytes = reader.array { $0.integer() }
                return known.bytes != nil
            }
            if name.isName("knownSHA256") {
                known.sha256 = reader.array { $0.string() }
                return known.sha256 != nil
            }
            return false
        }
        guard isRead, let site, let role else { return nil }
        return FetchColumns(
            site: SiteID(site), role: role, place: numbers.place.map { Int($0) },
            id: numbers.id.map { JobID($0) }, asset: numbers.asset.map { AssetID($0) },
            attempt: numbers.attempt.map { Int($0) }, url: urls, key: keys,
            knownBytes: known.bytes, knownSHA256: known.sha256
        ).rows
    }
}

/// Results of fetches that were stored.
private struct DoneColumns: Decodable {
    var lease: LeaseID
    var adopted: Bool
    var verified: Bool?
    var place: [Int]
    var job: [JobID]
    var bytes: [Int64]
    var sha256: [String]
    /// Absent, or as long as the others; empty if there is none.
    var validator: [String]?

    /// The reports; nil if the columns differ in length.
    var rows: PlacedRows<JobReport>? {
        guard place.count == job.count, job.count == bytes.count, job.count == sha256.count,
            validator?.count ?? job.count == job.count
        else { return nil }
        let reports = place.indices.map { row in
            var report = JobReport(job: job[row], lease: lease, outcome: .done)
            report.stored = StoredObject(bytes: bytes[row], sha256: sha256[row])
            if adopted { report.adopted = true }
            if verified == true { report.verified = true }
            if let validator, !validator[row].isEmpty { report.validator = validator[row] }
            return report
        }
        return PlacedRows(places: place, elements: reports)
    }
}

extension ReportRequest: ColumnMessage {
    private enum CodingKeys: String, CodingKey { case worker, results, done }

    static var columnsName: StaticString { "done" }

    var elements: [JobReport] {
        get { results }
        set { results = newValue }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(worker, forKey: .worker)
        try container.encode(results, forKey: .results)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let columns = try container.decodeIfPresent([DoneColumns].self, forKey: .done) ?? []
        let rows = columns.compactMap(\.rows)
        let others = try container.decode([JobReport].self, forKey: .results)
        guard rows.count == columns.count, let results = Self.merged(rows, with: others) else {
            throw Self.brokenColumns(container.codingPath)
        }
        self.init(worker: try container.decode(WorkerID.self, forKey: .worker), results: results)
    }

    func columnGroups() -> [[Int]] {
        var groups: [(lease: LeaseID, adopted: Bool, verified: Bool, places: [Int])] = []
        for (place, report) in results.enumerated()
        where report.outcome == .done && report.stored != nil && report.origins == nil
            && report.digests == nil
        {
            let (adopted, verified) = (report.adopted ?? false, report.verified ?? false)
            // Usually that of the previous result.
            let group = groups.lastIndex {
                $0.lease == report.lease && $0.adopted == adopted && $0.verified == verified
            }
            if let group {
                groups[group].places.append(place)
            } else {
                groups.append((report.lease, adopted, verified, [place]))
            }
        }
        return groups.map(\.places)
    }

    func write(_ places: [Int], to writer: inout WireTextWriter) {
        guard let first = places.first.map({ results[$0] }) else { return }
        writer.raw("\"lease\":")
        writer.string(first.lease)
        writer.raw(first.adopted ?? false ? ",\"adopted\":true," : ",\"adopted\":false,")
        if first.verified ?? false { writer.raw("\"verified\":true,") }
        writer.column("\"place\":", places) { $0.integer(Int64($1)) }
        writer.column("\"job\":", places) { $0.integer(results[$1].job.rawValue) }
        writer.column("\"bytes\":", places) { $0.integer(results[$1].stored?.bytes ?? 0) }
        writer.column("\"sha256\":", places) { $0.string(results[$1].stored?.sha256 ?? "") }
        guard places.contains(where: { results[$0].validator != nil }) else { return }
        writer.column("\"validator\":", places) { $0.string(results[$1].validator ?? "") }
    }

    static func readColumns(_ reader: inout WireTextReader) -> PlacedRows<JobReport>? {
        var lease: String?
        var adopted: Bool?
        var verified: Bool?
        var numbers = (place: [Int64](), job: [Int64](), bytes: [Int64]())
        var digests: [String] = []
        var validators: [String]?
        let isRead = reader.object { reader, name in
            func integers(_ column: inout [Int64]) -> Bool {
                guard column.isEmpty, let read = reader.array({ $0.integer() }) else {
                    return false
                }
                column = read
                return true
            }
            if name.isName("place") { return integers(&numbers.place) }
            if name.isName("job") { return integers(&numbers.job) }
            if name.isName("bytes") { return integers(&numbers.bytes) }
            if name.isName("sha256") {
                guard digests.isEmpty, let read = reader.array({ $0.string() }) else {
                    return false
                }
                digests = read
                return true
            }
            if name.isName("validator") {
                validators = reader.array { $0.string() }
                return validators != nil
            }
            if name.isName("lease") {
                lease = reader.string()
                return lease != nil
            }
            if name.isName("adopted") {
                adopted = reader.bool()
                return adopted != nil
            }
            if name.isName("verified") {
                verified = reader.bool()
                return verified != nil
            }
            return false
        }
        guard isRead, let lease, let adopted else { return nil }
        return DoneColumns(
            lease: lease, adopted: adopted, verified: verified,
            place: numbers.place.map { Int($0) },
            job: numbers.job.map { JobID($0) }, bytes: numbers.bytes, sha256: digests,
            validator: validators
        ).rows
    }
}

/// Its list has hundreds of short words.
extension ReportAnswer: WireMessage {
    /// Hand-written unless there are other fields.
    func wireBytes() throws -> [UInt8] {
        guard cooling == nil else { return try WireJSON.plain(self) }
        var writer = WireTextWriter()
        writer.reserve(answers.count * 11 + 20)
        writer.raw("{\"answers\":[")
        for answer in answers {
            writer.string(answer.rawValue)
            writer.raw(",")
        }
        if !answers.isEmpty { writer.removeLast() }
        writer.raw("]}")
        return writer.bytes
    }

    static func reading(_ bytes: [UInt8]) -> ReportAnswer? {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = WireTextReader(bytes)
            var answers: [Verdict]?
            let isRead = reader.object { reader, name in
                guard name.isName("answers"), answers == nil else { return false }
                answers = reader.array { reader in
                    guard let text = reader.text() else { return nil }
                    if text.isName("accepted") { return .accepted }
                    return Verdict(rawValue: String(decoding: text, as: UTF8.self))
                }
                return answers != nil
            }
            guard isRead, reader.isAtEnd, let answers else { return nil }
            return ReportAnswer(answers: answers)
        }
    }
}
