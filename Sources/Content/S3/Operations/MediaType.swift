/// Media types of objects, by the ends of their keys, so that an edge serves them as a web server
/// would.
enum MediaType {
    private static let known: [Substring: String] = [
        "m3u8": "application/vnd.apple.mpegurl", "mpd": "application/dash+xml", "ts": "video/mp2t",
        "m4s": "video/iso.segment", "mp4": "video/mp4", "m4v": "video/mp4", "m4a": "audio/mp4",
        "aac": "audio/aac", "mp3": "audio/mpeg", "webm": "video/webm", "vtt": "text/vtt",
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "json": "application/json",
        "xml": "application/xml", "txt": "text/plain",
    ]

    static func of(_ key: String) -> String {
        let name = key.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else {
            return name == "SHA256SUMS" ? "text/plain" : "application/octet-stream"
        }
        return known[name[name.index(after: dot)...]] ?? "application/octet-stream"
    }
}
