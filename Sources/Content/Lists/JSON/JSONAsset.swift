import JSON
import Model
import Schedule
import WebURL

/// Reads the fields of one asset of a JSON list.
///
/// An asset is an object, `{"url": "…", "name": "…", "kind": "file" | "hls" | "dash", "bytes": 0…,
/// "sha256": "64 hex digits", …, "mirrors": ["…"]}`, with only `url` required, or a string, its
/// URL. Lengths, digests and mirrors are for files only. Unknown fields are rejected, so that
/// misspelt ones are not lost silently.
struct JSONAsset {
    static let fields =
        "url, name, kind, bytes, sha256, sha512, sha1, md5, crc64nvme, crc32, "
        + "crc32c, mirrors, sidecars, notBefore, expiresAt, keepFor, refreshAfter, "
        + "title, maxFetches, maxSites"

    private var url: WebURL?
    private var name: String?
    private var kind: AssetKind?
    private var bytes: Int64?
    private var mirrors: [String]?
    private var digests = ListDigests()
    private var sidecars: [SidecarSubmission]?
    private var notBefore: Double?
    private var expiresAt: Double?
    private var keepSeconds: Double?
    private var refreshSeconds: Double?
    private var refreshByOrigin: Bool?
    private var title: String?
    private var maxFetches: FetchLimit?
    private var maxSites: Int?
    /// Start of each field's value.
    private var offsets: [String: Int] = [:]

    /// Reads the value at the cursor; `path` names it, empty for the whole line.
    static func read(
        _ cursor: inout JSONCursor, _ path: String, _ rules: KeyQueryRules
    ) throws(Failure) -> AssetSubmission {
        if try cursor.peek() == .string {
            let start = cursor.index
            let url = try Self.url(&cursor, path.isEmpty ? "url" : path)
            return try keyed(cursor, start, path.isEmpty ? "url" : path, url)
        }
        try cursor.expect(.object, path.isEmpty ? "(the line)" : path)
        let start = cursor.index
        let prefix = path.isEmpty ? "" : path + "."
        var fields = JSONAsset()
        try cursor.object { (cursor, name, offset) throws(Failure) in
            fields.offsets[name] = cursor.index
            try fields.readField(&cursor, name, offset, prefix)
        }
        return try fields.asset(cursor, start, prefix, rules)
    }

    private mutating func readField(
        _ cursor: inout JSONCursor, _ name: String, _ offset: Int, _ prefix: String
    ) throws(Failure) {
        let field = prefix + name
        switch name {
        case "url": url = try Self.url(&cursor, field)
        case "name": self.name = try cursor.name(field, limit: 1_000)
        case "kind": kind = try kind(&cursor, field)
        case "bytes":
            bytes = try cursor.wholeNumber(field, ListField.byteRange)
        case "mirrors": mirrors = try mirrors(&cursor, field)
        case "sidecars": sidecars = try JSONSidecar.readAll(&cursor, field)
        case "notBefore": notBefore = try cursor.pointInTime(field)
        case "expiresAt": expiresAt = try cursor.pointInTime(field)
        case "keepFor":
            keepSeconds = try cursor.duration(field)
        case "refreshAfter":
            refreshSeconds = try cursor.refreshSeconds(field)
            refreshByOrigin = refreshSeconds == nil ? true : nil
        case "title": title = try cursor.name(field, limit: 200)
        case "maxFetches": maxFetches = try cursor.fetchLimit(field)
        case "maxSites":
            maxSites = try cursor.count(field, WireLimits.sitesPerTitle)
        case _ where ListDigests.hexDigits(name) != nil:
            try cursor.digest(name, field, into: &digests)
        default:
            throw cursor.fieldFailure(
                at: offset, prefix + Redaction.shown(name), "is not known here",
                allowed: Self.fields)
        }
    }

    private func asset(
        _ cursor: JSONCursor, _ start: Int, _ prefix: String, _ rules: KeyQueryRules
    ) throws(Failure) -> AssetSubmission {
        guard let url else {
            throw cursor.fieldFailure(
                at: start, prefix + "url", "is missing", allowed: "an http or https URL")
        }
        var asset = try Self.keyed(cursor, offsets["url"] ?? start, prefix + "url", url)
        asset.name = name ?? asset.name
        asset.kind = kind ?? asset.kind
        asset.bytes = bytes
        asset.sha256 = digests.sha256
        asset.mirrors = mirrors
        asset.digests = FurtherDigests.text(digests.others)
        asset.sidecars = sidecars
        (asset.notBefore, asset.expiresAt) = (notBefore, expiresAt)
        (asset.keepSeconds, asset.refreshSeconds) = (keepSeconds, refreshSeconds)
        asset.refreshByOrigin = refreshByOrigin
        (asset.title, asset.maxFetches, asset.maxSites) = (title, maxFetches, maxSites)
        if let notBefore, let expiresAt, expiresAt <= notBefore {
            throw Failure(
                .inputRights,
                at: cursor.location(offsets["expiresAt"] ?? start, field: prefix + "expiresAt"),
                "it is not later than \(prefix)notBefore")
        }
        try asset.rekey(rules)
        try Self.check(asset, cursor, offsets["sidecars"] ?? start, prefix + "sidecars", rules)
        guard asset.kind != .file else { return asset }
        let further = FurtherDigests.hexDigits.keys.sorted()
        for name in ["sha256", "bytes", "mirrors"] + further {
            guard let offset = offsets[name] else { continue }
            throw cursor.fieldFailure(
                at: offset, prefix + name, "given for a title of kind \(asset.kind)",
                allowed: "for kind file only")
        }
        return asset
    }

    /// Returns the asset of a URL; throws with its position if it has no key.
    private static func keyed(
        _ cursor: JSONCursor, _ start: Int, _ path: String, _ url: WebURL
    ) throws(Failure) -> AssetSubmission {
        do throws(Failure) {
            return try ListReader.asset(url: url)
        } catch {
            throw error.at(cursor.location(start, field: path))
        }
    }

    /// Throws if two files of an asset have the same key.
    private static func check(
        _ asset: AssetSubmission, _ cursor: JSONCursor, _ offset: Int, _ path: String,
        _ rules: KeyQueryRules
    ) throws(Failure) {
        var keys: Set<String> = [asset.key]
        var objects: Set<String> = [SharedKeys.object(of: asset.url, rules)]
        for sidecar in asset.sidecars ?? [] {
            let isNew = objects.insert(SharedKeys.object(of: sidecar.url, rules)).inserted
            guard !keys.insert(sidecar.key).inserted else { continue }
            // Parameters left out of its key keep it apart: see `SharedKeys`.
            if isNew, try SharedKeys.ownKey(of: sidecar.url, rules) != nil { continue }
            throw Failure(
                .storagePathConflict, at: cursor.location(offset, field: path),
                "two files of the asset would be stored at "
                    + "\(Redaction.shown(sidecar.key))")
        }
    }

    static func url(_ cursor: inout JSONCursor, _ path: String) throws(Failure) -> WebURL {
        try cursor.expect(.string, path)
        let start = cursor.index
        let text = try cursor.string()
        do throws(WebURLError) {
            return try WebURL(text)
        } catch {
            throw Failure(
                .inputURL, at: cursor.location(start, field: path),
                "\(error.detail), given "
                    + "\"\(Redaction.shown(text))\", allowed an http or https URL")
        }
    }

    private func mirrors(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> [String] {
        try cursor.expect(.array, path)
        let start = cursor.index
        var mirrors: [String] = []
        try cursor.array { (cursor) throws(Failure) in
            mirrors.append(try Self.url(&cursor, "\(path)[\(mirrors.count)]").text)
        }
        guard (1...WireLimits.mirrorsPerAsset).contains(mirrors.count) else {
            throw cursor.fieldFailure(
                at: start, path, "names \(mirrors.count) URLs",
                allowed: "1 to \(WireLimits.mirrorsPerAsset)")
        }
        return mirrors
    }

    private func kind(_ cursor: inout JSONCursor, _ path: String) throws(Failure) -> AssetKind {
        try cursor.expect(.string, path)
        let start = cursor.index
        let text = try cursor.string()
        guard let kind = AssetKind(rawValue: text) else {
            throw cursor.fieldFailure(
                at: start, path, "given \"\(Redaction.shown(text))\"",
                allowed: AssetKind.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return kind
    }
}

extension JSONCursor {
    /// Reads a digest in hex digits.
    mutating func digest(
        _ name: String, _ path: String, into digests: inout ListDigests
    ) throws(Failure) {
        try expect(.string, path)
        let start = index
        let text = try string()
        if let allowed = digests.set(name, text) {
            throw fieldFailure(
                at: start, path, "given \"\(Redaction.shown(text))\"", allowed: allowed)
        }
    }

    /// Reads a display name: 1 to `limit` characters without control characters.
    mutating func name(_ path: String, limit: Int) throws(Failure) -> String {
        try expect(.string, path)
        let start = index
        let text = try string()
        guard ListField.isName(text, limit: limit) else {
            throw fieldFailure(
                at: start, path, "given \"\(Redaction.shown(text))\"",
                allowed: "1 to \(limit) characters without control characters")
        }
        return text
    }

    /// Reads a point in time in seconds since 1970: RFC 3339 with an offset, which no time zone or
    /// daylight saving changes.
    mutating func pointInTime(_ path: String) throws(Failure) -> Double {
        try expect(.string, path)
        let start = index
        let text = try string()
        guard text.utf8.count > 10, let time = Schedule.pointInTime(text, now: 0) else {
            throw fieldFailure(
                at: start, path, "given \"\(Redaction.shown(text))\"",
                allowed: "a time with a zone: 2026-11-22T18:00+01:00 or 2026-11-22T17:00Z")
        }
        return time
    }

    /// Reads when an asset is refreshed, in seconds; nil for `origin`.
    mutating func refreshSeconds(_ path: String) throws(Failure) -> Double? {
        if try isText("origin") { return nil }
        return try duration(
            path, WireLimits.refreshSeconds, "origin, or 1m to 365d: 90m, 6h, 7d")
    }

    /// Takes the value at the cursor if it is this text.
    private mutating func isText(_ expected: String) throws(Failure) -> Bool {
        guard try peek() == .string else { return false }
        let start = self
        if try string() == expected { return true }
        self = start
        return false
    }

    /// Reads a duration in seconds.
    mutating func duration(
        _ path: String, _ range: ClosedRange<Double> = WireLimits.keepSeconds,
        _ allowed: String = "1s to 36500d: 90m, 48h, 30d"
    ) throws(Failure) -> Double {
        try expect(.string, path)
        let start = index
        let text = try string()
        guard let seconds = lengthOfTime(text), range.contains(seconds) else {
            throw fieldFailure(
                at: start, path, "given \"\(Redaction.shown(text))\"",
                allowed: allowed)
        }
        return seconds
    }
}
