import Model
import Postgres

/// Where the columns of `leasedJobs` are: looked up once for all rows, because every job there is is read by them.
struct JobColumns {
    let place, id, attempt, asset, role, url, key, length, sha256, kind, offset: PostgresColumn
    let knownBytes, knownSHA256, knownValidator, knownVerified: PostgresColumn
    let assetKind, assembly, totalBytes, validator, stated, formerAssembly: PostgresColumn
    let mirrors, mirrorOrigin, digests, isWhole, hasDocument, titleOptions: PostgresColumn

    init(_ result: PostgresResult) throws(PostgresError) {
        place = try result.column("place")
        id = try result.column("id")
        attempt = try result.column("attempt")
        asset = try result.column("asset_id")
        role = try result.column("role")
        url = try result.column("url")
        key = try result.column("key")
        length = try result.column("length")
        sha256 = try result.column("sha256")
        kind = try result.column("kind")
        offset = try result.column("range_offset")
        knownBytes = try result.column("known_bytes")
        knownSHA256 = try result.column("known_sha256")
        knownValidator = try result.column("known_validator")
        knownVerified = try result.column("known_verified")
        assetKind = try result.column("asset_kind")
        assembly = try result.column("assembly")
        totalBytes = try result.column("total_bytes")
        validator = try result.column("validator")
        stated = try result.column("stated")
        formerAssembly = try result.column("former_assembly")
        mirrors = try result.column("mirrors")
        mirrorOrigin = try result.column("mirror_origin")
        digests = try result.column("digests")
        isWhole = try result.column("is_whole")
        hasDocument = try result.column("has_document")
        titleOptions = try result.column("title_options")
    }
}

extension Job {
    init(row: PostgresRow, _ columns: JobColumns, site: SiteID) throws {
        let url = try row.optionalString(columns.url) ?? ""
        let kind =
            try row.optionalString(columns.kind).flatMap(JobKind.init(rawValue:)) ?? .fetch
        self.init(
            id: JobID(try row.int64(columns.id)), kind: kind, site: site,
            asset: AssetID(try row.int64(columns.asset)), attempt: try row.int(columns.attempt),
            url: url, key: try row.optionalString(columns.key) ?? String(keyOf(url)))
        role = try row.optionalString(columns.role).flatMap(SegmentRole.init(rawValue:))
        length = try row.optionalInt64(columns.length)
        sha256 = try row.optionalString(columns.sha256)
        offset = try row.optionalInt64(columns.offset)
        if let bytes = try row.optionalInt64(columns.knownBytes),
            let digest = try row.optionalString(columns.knownSHA256)
        {
            known = StoredObject(bytes: bytes, sha256: digest)
        }
        knownValidator = try row.optionalString(columns.knownValidator)
        isKnownVerified = try row.optionalBool(columns.knownVerified)
        mirrors = try row.optionalString(columns.mirrors)?.split(separator: "\n").map(String.init)
        if [.resolve, .refresh, .switchOver].contains(kind) {
            assetKind = try row.optionalString(columns.assetKind).flatMap(AssetKind.init(rawValue:))
        }
        if let id = try row.optionalString(columns.assembly) {
            assembly = Assembly(
                id: id, totalBytes: try row.int64(columns.totalBytes),
                validator: try row.string(columns.validator))
            assembly?.digests = try row.optionalString(columns.stated)
        }
        digests = try row.optionalString(columns.digests)
        isWhole = try row.optionalBool(columns.isWhole)
        formerAssembly = kind == .fetch ? try row.optionalString(columns.formerAssembly) : nil
        isDocument = try row.optionalBool(columns.hasDocument)
        mirrorOrigin = try row.optionalString(columns.mirrorOrigin)
        titles = try row.optionalString(columns.titleOptions).flatMap {
            try? WireJSON.decode(TitleOptions.self, from: [UInt8]($0.utf8))
        }
    }
}
