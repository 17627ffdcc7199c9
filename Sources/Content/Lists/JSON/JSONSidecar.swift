import JSON
import Model
import WebURL

/// Reads the sidecars of an asset of a JSON list: `[{"url": "…", "required": true | false, "bytes":
/// 0…, "sha256": "…", …}, "…"]`, with only `url` required, or strings, their URLs.
struct JSONSidecar {
    private static let fields =
        "url, required, bytes, sha256, sha512, sha1, md5, crc64nvme, crc32, "
        + "crc32c"

    private var url: WebURL?
    private var urlStart: Int
    private var isRequired = true
    private var bytes: Int64?
    private var digests = ListDigests()

    static func readAll(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> [SidecarSubmission] {
        try cursor.expect(.array, path)
        let start = cursor.index
        var sidecars: [SidecarSubmission] = []
        try cursor.array { (cursor) throws(Failure) in
            sidecars.append(try read(&cursor, "\(path)[\(sidecars.count)]"))
        }
        guard (1...WireLimits.sidecarsPerAsset).contains(sidecars.count) else {
            throw cursor.fieldFailure(
                at: start, path, "names \(sidecars.count) files",
                allowed: "1 to \(WireLimits.sidecarsPerAsset)")
        }
        return sidecars
    }

    private static func read(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> SidecarSubmission {
        let start = cursor.index
        var sidecar = JSONSidecar(urlStart: start)
        if try cursor.peek() == .string {
            sidecar.url = try JSONAsset.url(&cursor, path)
        } else {
            try cursor.expect(.object, path)
            try cursor.object { (cursor, name, offset) throws(Failure) in
                try sidecar.readField(&cursor, name, offset, path)
            }
        }
        guard let url = sidecar.url else {
            throw cursor.fieldFailure(
                at: start, "\(path).url", "is missing", allowed: "an http or https URL")
        }
        do throws(Failure) {
            return SidecarSubmission(
                url: url.text, key: try SiteKey(url).text, role: role(of: url),
                required: sidecar.isRequired, bytes: sidecar.bytes,
                sha256: sidecar.digests.sha256,
                digests: FurtherDigests.text(sidecar.digests.others))
        } catch {
            throw error.at(cursor.location(sidecar.urlStart, field: "\(path).url"))
        }
    }

    private init(urlStart: Int) { self.urlStart = urlStart }

    private mutating func readField(
        _ cursor: inout JSONCursor, _ name: String, _ offset: Int, _ path: String
    ) throws(Failure) {
        let field = "\(path).\(name)"
        switch name {
        case "url":
            urlStart = cursor.index
            url = try JSONAsset.url(&cursor, field)
        case "required": isRequired = try cursor.boolean(field)
        case "bytes": bytes = try cursor.wholeNumber(field, ListField.byteRange)
        case _ where ListDigests.hexDigits(name) != nil:
            try cursor.digest(name, field, into: &digests)
        default:
            throw cursor.unknownField(name, at: offset, in: path, allowed: Self.fields)
        }
    }

    /// Returns the role by the extension of the path.
    private static func role(of url: WebURL) -> SegmentRole {
        let path = url.path.lowercased()
        let ending = path.split(separator: "/").last?.split(separator: ".").dropFirst().last
        switch ending {
        case "jpg", "jpeg", "png", "webp", "avif", "gif", "svg": return .image
        case "vtt", "srt", "ttml", "dfxp", "ass": return .subtitles
        default: return .data
        }
    }
}
