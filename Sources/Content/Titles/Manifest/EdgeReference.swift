import Model
import Text
import WebURL

/// References of a stored manifest to stored objects.
///
/// A site's folders are those of the origins, by host; the root of its web server is unknown. So a
/// reference must be a relative path from the manifest's key to the object's key.
struct EdgeReference {
    /// The manifest's key up to its last slash.
    private let folder: [UInt8]
    /// The manifest's key as a URL, to resolve references at the edge.
    private let base: ReferenceBase?

    /// Creates references of a manifest.
    ///
    /// - Parameter key: the manifest's key.
    init(key: SiteKey) {
        let bytes = Array(key.text.utf8)
        folder = Array(bytes[..<Self.nameStart(bytes)])
        base =
            (try? WebURL(
                "http://\(Self.host)/\(String(decoding: Self.encoded(bytes[...]), as: UTF8.self))"))
            .map {
                ReferenceBase($0)
            }
    }

    private static let host = "edge.invalid"

    /// Returns true if the reference leads to `key` unchanged: it is a relative path, and a web
    /// server looks up the key's file for it, with the decoded path and the query as written.
    func leads(_ reference: [UInt8], _ range: Range<Int>, to key: SiteKey) -> Bool {
        let range = ASCII.trimmed(reference, range)
        guard let base, range.first.map({ reference[$0] }) != ASCII.slash else { return false }
        let end = reference[range].firstIndex(of: ASCII.hash) ?? range.upperBound
        let question = reference[range.lowerBound..<end].firstIndex(of: ASCII.question) ?? end
        let query = reference[question..<end].dropFirst()
        // Players treat other bytes differently.
        guard query.allSatisfy({ ASCII.isIn(.queryName, $0) }),
            let url = try? base.resolve(reference, range.lowerBound..<question),
            url.authority == Self.host, Self.isWhole(url.path),
            // A web server looks up tokens in paths literally.
            SignedPath.replacingTokens(Array(url.path.utf8)[...], with: SignedPath.mark) == nil,
            let file = try? SiteKey(url)
        else { return false }
        var found = file.text
        if !query.isEmpty {
            if url.path.hasSuffix("/") { return false }
            found += "?" + String(decoding: query, as: UTF8.self)
        }
        return found == "\(Self.host)/\(key.text)"
    }

    /// Returns true if each component of a path is a file name unchanged: see `SiteKey`.
    private static func isWhole(_ path: String) -> Bool {
        let path = path.utf8
        return path.count <= SiteKey.componentBytes
            || path.split(separator: ASCII.slash).allSatisfy { component in
                component.count - 2 * component.count(where: { $0 == ASCII.percent })
                    <= SiteKey.componentBytes
            }
    }

    /// Returns true for most references that lead to their object, without resolving them.
    ///
    /// - Parameters:
    ///   - base: the base of the reference, by the manifest's name.
    ///   - names: the parameters that belong to keys of its origin.
    static func isPlain(
        _ reference: [UInt8], _ range: Range<Int>, at base: ReferenceBase,
        _ names: KeyQueryRules.Names
    ) -> Bool {
        guard let queryStart = base.plainQueryStart(reference, range),
            range.count < SiteKey.queryNameBytes
                || reference[range].split(separator: ASCII.slash).allSatisfy({
                    $0.count < SiteKey.queryNameBytes
                })
        else { return false }
        let path = reference[range.lowerBound..<queryStart]
        guard SignedPath.replacingTokens(path, with: SignedPath.mark) == nil else { return false }
        if queryStart == range.upperBound { return true }
        let query = reference[(queryStart + 1)..<range.upperBound]
        return path.last != ASCII.slash && !path.contains(ASCII.percent)
            && query.contains(ASCII.equals) && query.allSatisfy { ASCII.isIn(.queryName, $0) }
            && SignedQuery.withoutSecrets(query, names) == nil
    }

    /// Returns the relative reference to `key` (RFC 3986, section 4.2).
    func path(to key: SiteKey) -> [UInt8] {
        let target = Array(key.text.utf8)
        // Compared by bytes: equivalent Unicode spellings are different folders.
        let shared = zip(folder, target).prefix { $0 == $1 }.count
        let common = Self.nameStart(target[..<shared])
        let name = Self.nameStart(target[...])
        var out: [UInt8] = []
        for byte in folder[common...] where byte == ASCII.slash { out += "../".utf8 }
        out += Self.encoded(target[common..<name]) + Self.name(target[name...])
        // The first component of a relative path must not contain a colon.
        let hasColon = out.prefix { $0 != ASCII.slash }.contains(ASCII.colon)
        return hasColon ? Array("./".utf8) + out : out
    }

    /// Returns the index after the last slash.
    private static func nameStart(_ key: some BidirectionalCollection<UInt8>) -> Int {
        key.count - key.reversed().prefix { $0 != ASCII.slash }.count
    }

    /// Encodes a file name, which may include a query: see `SiteKey`.
    private static func name(_ name: ArraySlice<UInt8>) -> [UInt8] {
        guard let question = name.firstIndex(of: ASCII.question) else { return encoded(name) }
        let query = name[question...].dropFirst()
        let isQuery =
            query.contains(ASCII.equals) && query.allSatisfy { ASCII.isIn(.queryName, $0) }
        return isQuery ? encoded(name[..<question]) + name[question...] : encoded(name)
    }

    /// Percent-encodes a path except slashes and characters allowed in paths.
    private static func encoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        for byte in text {
            if ASCII.isIn(.path, byte) {
                out.append(byte)
            } else {
                ASCII.appendEscape(of: byte, to: &out)
            }
        }
        return out
    }
}
