import Digest
package import Model
import Text

/// The final key of a URL: the path of its object at a site, relative to the site's root.
///
/// `<host>/<path>`: the host as in `WebURL.authority` (with `:port` unless it is the scheme's
/// default). The path is percent-decoded as a web server looks it up on disk, so that a web server
/// over the site serves the same paths. Dray alone creates keys, never from an origin's response.
///
/// - A path that ends in `/` gets `index.html`; empty path components are dropped (`a//b` is
///   `a/b`), as web servers merge slashes.
/// - A query becomes part of the file name: `name?query`. In it, `/` and bytes that are unsafe in a
///   name are percent-encoded, and a query without `=` gets one at the end. So a path cannot
///   produce the same key: a last component of a name, `?`, and query characters with a `=` is
///   rejected. nginx finds such files with `try_files "$uri?$args" $uri =404`.
/// - Query parameters that carry a signature or a token are omitted (`SignedQuery`), and `~`
///   replaces one in the path. Stored files must not reveal credentials, and a new signature must
///   name the same object. An operator may define by origin what is kept or omitted
///   (`KeyQueryRules`). If files of one list that differ in tokens would get the same key, `~=` and
///   a hash distinguish them (`SharedKeys`).
/// - `'` is encoded there too: some players encode it on the request line.
/// - A file name with a query over 200 bytes becomes the start of the name, `?=` and a hash of all
///   of it. A path component over 255 bytes, which no web server could look up on disk either,
///   becomes its first 200 bytes, `~` and a hash.
/// - Rejected with `storage.pathRefused`: percent-encoded `/`, NUL and control characters, and a
///   component that decodes to `.` or `..`. Also bytes that are not UTF-8 (a database and JSON
///   could not name the file), and more than `WireLimits.keyBytes` bytes or 128 components.
///
/// Different URLs with the same key: http and https of one host without a port; `x/` and
/// `x/index.html`; `a//b` and `a/b`; two percent-encodings of one path; a token. Also a query that
/// differs in `/` against `%2F`, or in a single `=` at its end. If one asset names two of them, its
/// resolution fails with `storage.pathConflict`. Of two assets of a site the second one fails,
/// before anything is fetched. URLs that differ only in their signatures name one object.
///
/// The first component is never `.dray`, Dray's own folder: a host has no empty label.
package struct SiteKey: Hashable, Sendable {
    /// The key; UTF-8, 1 to `WireLimits.keyBytes` bytes, no leading or trailing slash.
    package let text: String

    package init(_ url: WebURL, _ rules: KeyQueryRules = KeyQueryRules()) throws(Failure) {
        try self.init(url, rules, isApart: false)
    }

    /// - Parameter isApart: Adds 128 bits of a hash of the path and query, including tokens; it
    ///   does not change with the signature.
    package init(_ url: WebURL, _ rules: KeyQueryRules, isApart: Bool) throws(Failure) {
        let all = [UInt8](url.text.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(all.count + 10)
        var hash: [UInt8] = []
        if isApart {
            let object = SignedQuery.unsigned(all, rules)[url.pathStart...]
            let digest = SHA256Digest(hashing: Array("dray.key".utf8) + object)
            hash = Array("~=".utf8) + digest.description.utf8.prefix(32)
        }
        try Self.write(all, queryStart: url.queryStart, rules, apart: hash, into: &bytes)
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// Returns true if a URL's key omits a signature or a token.
    package static func hidesSecrets(of url: WebURL, _ rules: KeyQueryRules) -> Bool {
        if let query = url.query {
            let names = rules.names(of: url.text.utf8)
            if SignedQuery.withoutSecrets(Array(query.utf8)[...], names) != nil { return true }
        }
        return SignedPath.replacingTokens(Array(url.path.utf8)[...], with: SignedPath.mark) != nil
    }

    /// Replaces the content of `out` by a URL's key.
    ///
    /// - Parameters:
    /// - url: The text of a `WebURL`.
    /// - apart: A parameter to add to the query in the name.
    package static func write(
        _ url: [UInt8], queryStart: Int, _ rules: KeyQueryRules, apart: [UInt8] = [],
        into out: inout [UInt8]
    ) throws(Failure) {
        out.removeAll(keepingCapacity: true)
        do throws(Rejection) {
            try make(url, queryStart, rules, apart, &out)
        } catch {
            throw Failure(
                .storagePathRefused,
                "\(Redaction.shown(String(decoding: url, as: UTF8.self))): its path \(error.reason)"
            )
        }
    }

    /// Returns false for a URL whose query in the file name differs from the request line's.
    package static func keepsQuery(of url: WebURL, _ rules: KeyQueryRules) -> Bool {
        guard let query = url.query, let key = try? SiteKey(url, rules) else { return true }
        return key.text.hasSuffix("?\(query)") && !url.path.hasSuffix("/")
    }

    private struct Rejection: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    /// Maximum length of a file name on ext4, XFS and tmpfs, in bytes.
    package static let componentBytes = 255
    /// Maximum length of a file name with a query, in bytes.
    package static let queryNameBytes = 200

    private static let maximumComponents = 128

    private static func make(
        _ bytes: [UInt8], _ queryStart: Int, _ rules: KeyQueryRules, _ apart: [UInt8],
        _ out: inout [UInt8]
    ) throws(Rejection) {
        let (host, pathStart) = bytes.withUnsafeBufferPointer {
            (WebURL.authorityStart($0), WebURL.pathStart($0))
        }
        if apart.isEmpty, isPlain(bytes, host, pathStart, queryStart) {
            out += bytes[host...]
            return
        }
        // Before escapes are decoded: a token may contain an encoded slash.
        if let path = SignedPath.replacingTokens(
            bytes[pathStart..<queryStart], with: SignedPath.mark)
        {
            let plain = bytes[..<pathStart] + path + bytes[queryStart...]
            return try make(Array(plain), pathStart + path.count, rules, apart, &out)
        }
        out += bytes[host..<pathStart]
        var index = pathStart
        var isAllASCII = true
        var hasQuestion = false
        // From here on `index` is at a slash; `start` is the start of the component in `out`.
        var start = out.count
        while index < queryStart {
            index += 1
            start = out.count + 1
            out.append(ASCII.slash)
            while true {
                index = ASCII.appendRun(of: bytes, index..<queryStart, to: &out) {
                    $0 != ASCII.slash && $0 != ASCII.percent
                }
                guard index < queryStart, bytes[index] == ASCII.percent else { break }
                // Both are hex digits, as the URL has been parsed.
                let byte =
                    (ASCII.hexValue(bytes[index + 1]) ?? 0) << 4
                    | (ASCII.hexValue(bytes[index + 2]) ?? 0)
                index += 3
                if byte == ASCII.slash { throw Rejection("has an encoded slash (%2F)") }
                if ASCII.isControl(byte) { throw Rejection("has an encoded control character") }
                if byte >= 0x80 { isAllASCII = false }
                if byte == ASCII.question { hasQuestion = true }
                out.append(byte)
            }
            let isLast = index >= queryStart
            if out.count == start, !isLast {
                out.removeLast()
                continue
            }
            if out.count == start { out += "index.html".utf8 }
            try checkComponent(out, start, isAllASCII: isAllASCII)
            if !isLast { shorten(&out, start, to: componentBytes) }
        }
        let query = bytes[min(queryStart + 1, bytes.count)...]
        var kept = query
        if !query.isEmpty {
            let names = rules.names(of: bytes[..<pathStart])
            kept = SignedQuery.withoutSecrets(query, names).map { $0[...] } ?? query
        }
        if !apart.isEmpty { kept += (kept.isEmpty ? [] : [0x26]) + apart }
        if !kept.isEmpty {
            appendQuery(kept, to: &out, nameStart: start)
        } else {
            if hasQuestion, looksLikeQuery(out, start) {
                throw Rejection("holds an encoded ? (%3F) that reads as a query")
            }
            shorten(&out, start, to: componentBytes)
        }
        if out.count(where: { $0 == ASCII.slash }) >= maximumComponents {
            throw Rejection("has more than \(maximumComponents) components")
        }
        if out.count > WireLimits.keyBytes {
            throw Rejection("is longer than \(WireLimits.keyBytes) bytes")
        }
    }

    /// Returns true if a URL's key is its text without the scheme, as for most.
    private static func isPlain(
        _ bytes: [UInt8], _ host: Int, _ pathStart: Int, _ queryStart: Int
    ) -> Bool {
        guard queryStart == bytes.count, bytes.count - host <= WireLimits.keyBytes else {
            return false
        }
        return bytes.withUnsafeBufferPointer { bytes in
            var components = 0
            var start = pathStart
            for index in pathStart..<queryStart where bytes[index] == ASCII.slash {
                guard index == pathStart || (1...componentBytes).contains(index - start - 1) else {
                    return false
                }
                components += 1
                start = index
            }
            return components < maximumComponents
                && (1...componentBytes).contains(queryStart - start - 1)
                // A token in a path has a =, maybe as %3D.
                && !bytes[pathStart...].contains { $0 == ASCII.percent || $0 == ASCII.equals }
        }
    }

    /// Rejects the component from `start` on if it cannot be the name of a file.
    private static func checkComponent(
        _ out: [UInt8], _ start: Int, isAllASCII: Bool
    ) throws(Rejection) {
        let length = out.count - start
        if length <= 2, out[start] == ASCII.dot, out[out.count - 1] == ASCII.dot {
            throw Rejection("leads out of its folder by an encoded . or ..")
        }
        guard !isAllASCII else { return }
        guard let text = String(validating: out[start...], as: UTF8.self) else {
            throw Rejection("is not UTF-8 once it is decoded")
        }
        for scalar in text.unicodeScalars where (0x80...0x9F).contains(scalar.value) {
            throw Rejection("has an encoded control character")
        }
    }

    private static func appendQuery(
        _ query: ArraySlice<UInt8>, to out: inout [UInt8], nameStart: Int
    ) {
        let question = out.count
        out.append(ASCII.question)
        var hasEquals = false
        for byte in query {
            hasEquals = hasEquals || byte == ASCII.equals
            if ASCII.isIn(.queryName, byte) {
                out.append(byte)
            } else {
                ASCII.appendEscape(of: byte, to: &out)
            }
        }
        if !hasEquals { out.append(ASCII.equals) }
        guard out.count - nameStart > queryNameBytes else { return }
        let hash = StableHash.hex(out[nameStart...])
        out.removeLast(out.count - question)
        cut(&out, to: nameStart + queryNameBytes - 34)
        out += "?=".utf8
        out += hash
    }

    private static func looksLikeQuery(_ out: [UInt8], _ start: Int) -> Bool {
        guard let question = out[start...].firstIndex(of: ASCII.question) else { return false }
        let rest = out[(question + 1)...]
        return rest.contains(ASCII.equals) && rest.allSatisfy { ASCII.isIn(.queryName, $0) }
    }

    private static func shorten(_ out: inout [UInt8], _ start: Int, to limit: Int) {
        guard out.count - start > limit else { return }
        let hash = StableHash.hex(out[start...])
        cut(&out, to: start + 200)
        out.append(0x7E)
        out += hash
    }

    /// Cuts `out` to at most `count` bytes, between two characters.
    private static func cut(_ out: inout [UInt8], to count: Int) {
        guard out.count > count else { return }
        var end = count
        while end > 0, out[end] & 0xC0 == 0x80 { end -= 1 }
        out.removeLast(out.count - end)
    }
}

extension SiteKey: CustomStringConvertible {
    package var description: String { text }
}
