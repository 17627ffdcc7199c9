import Digest
import Gzip
import HTTPServer

/// Makes the answer of a route fit its request: entity tags, compression and rules for caches.
///
/// Routes of workers are left as they are: their answers are short-lived, and each byte and hash of
/// them is on the hot path.
enum Representation {
    /// Shortest body that is compressed.
    static let minimumGzipBytes = 1 << 10

    static func of(
        _ response: HTTPResponse, for request: HTTPRequest, _ route: Route
    ) -> HTTPResponse {
        guard route.rule != .workers, (200..<300).contains(response.status),
            response.stream == nil
        else { return response }
        var response = response
        let isJSON = response.header("content-type") == "application/json"
        guard route.method == .get, isJSON || response.body.count >= minimumGzipBytes else {
            response.headers.append(("Cache-Control", "no-store"))
            return response
        }
        response.add("Accept-Encoding", toListIn: "Vary")
        // A cache must revalidate it. What needs a token may be in private caches only.
        let cache = isJSON ? (route.rule == nil ? "no-cache" : "private, no-cache") : "no-store"
        response.headers.append(("Cache-Control", cache))
        if isJSON {
            let tag = entityTag(response.body)
            response.headers.append(("ETag", tag))
            if let known = request.header("if-none-match"), matches(known, tag) {
                response.status = 304
                response.body = []
                response.headers.removeAll { $0.name == "Content-Type" }
                return response
            }
        }
        if response.body.count >= minimumGzipBytes,
            acceptsGzip(request.header("accept-encoding") ?? "")
        {
            response.body = Gzip.compressed(response.body)
            response.headers.append(("Content-Encoding", "gzip"))
        }
        return response
    }

    // MARK: Entity tags

    /// Returns the tag of a body: weak, because it is that of its compressed form too.
    static func entityTag(_ body: [UInt8]) -> String {
        "W/\"\(SHA256Digest(hashing: body).description.prefix(32))\""
    }

    /// Returns true if a list of `If-None-Match` has a tag, compared weakly (RFC 9110, 13.1.2).
    static func matches(_ list: String, _ tag: String) -> Bool {
        let opaque = tag.dropFirst(2)
        return list.split(separator: ",").contains { item in
            let item = blankless(item)
            return item == "*" || item == opaque || item == tag[...]
        }
    }

    // MARK: Compression

    /// Returns true if `Accept-Encoding` prefers gzip to no coding (RFC 9110, 12.5.3).
    static func acceptsGzip(_ header: String) -> Bool {
        var gzip: Double?
        var identity: Double?
        var others: Double?
        for item in header.split(separator: ",") {
            let parts = item.split(separator: ";", omittingEmptySubsequences: false)
                .map { blankless($0).lowercased() }
            guard let coding = parts.first else { continue }
            var weight = 1.0
            for parameter in parts.dropFirst() where parameter.hasPrefix("q=") {
                guard let given = Double(parameter.dropFirst(2)), 0...1 ~= given else {
                    return false
                }
                weight = given
            }
            switch coding {
            case "gzip", "x-gzip": gzip = weight
            case "identity": identity = weight
            case "*": others = weight
            default: break
            }
        }
        let weight = gzip ?? others ?? 0
        return weight > 0 && weight >= identity ?? 0
    }

    private static func blankless(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}

extension HTTPResponse {
    /// Returns the value of the first header of that name, which is compared case-insensitively.
    fileprivate func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name }?.value
    }

    /// Adds a value to a header that is a list.
    fileprivate mutating func add(_ value: String, toListIn name: String) {
        guard let index = headers.firstIndex(where: { $0.name == name }) else {
            headers.append((name, value))
            return
        }
        headers[index].value += ", " + value
    }
}
