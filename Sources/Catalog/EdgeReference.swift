import Model

/// How a document at the edge names what lies there.
///
/// A site's folders are those of the origins, host by host; nothing is said of where a web server over a
/// site has its root. So what a document names is found at the edge where a relative path leads from the
/// document's own key to the other's.
struct EdgeReference {
    private let folder: [Substring]
    /// The document's key as a URL's path, to see where a reference leads at the edge.
    private let base: ReferenceBase?

    /// - Parameter key: of the document that names others.
    init(key: SiteKey) {
        folder = pathComponents(of: key.text).dropLast()
        base = (try? WebURL("http://\(Self.host)/\(Self.encoded(key.text))")).map {
            ReferenceBase($0)
        }
    }

    private static let host = "edge.invalid"

    /// True when the reference leads to `key` as it stands: it is a relative path, and the file that a web
    /// server looks up for it, by the path decoded and the query as it is written, is the key's.
    func leads(_ reference: [UInt8], _ range: Range<Int>, to key: SiteKey) -> Bool {
        let range = ASCII.trimmed(reference, range)
        guard let base, range.first.map({ reference[$0] }) != ASCII.slash else { return false }
        let end = reference[range].firstIndex(of: ASCII.hash) ?? range.upperBound
        let question = reference[range.lowerBound..<end].firstIndex(of: ASCII.question) ?? end
        let query = reference[question..<end].dropFirst()
        // Of other bytes one player makes one thing and another player another.
        guard query.allSatisfy({ ASCII.isIn(.queryName, $0) }),
            let url = try? base.resolve(reference, range.lowerBound..<question),
            url.authority == Self.host, Self.isWhole(url.path), let file = try? SiteKey(url)
        else { return false }
        var found = file.text
        if !query.isEmpty {
            if url.path.hasSuffix("/") { return false }
            found += "?" + String(decoding: query, as: UTF8.self)
        }
        return found == "\(Self.host)/\(key.text)"
    }

    /// Whether each component of a path is a file's name as it stands: see `SiteKey`.
    private static func isWhole(_ path: String) -> Bool {
        let path = path.utf8
        return path.count <= SiteKey.componentBytes
            || path.split(separator: ASCII.slash).allSatisfy { component in
                component.count - 2 * component.count(where: { $0 == ASCII.percent })
                    <= SiteKey.componentBytes
            }
    }

    /// The relative reference that leads to `key` (RFC 3986, section 4.2).
    func path(to key: SiteKey) -> String {
        let target = pathComponents(of: key.text)
        var common = 0
        // Byte by byte: one letter may be written in several ways, and they are several folders.
        while common < folder.count, common < target.count - 1,
            folder[common].utf8.elementsEqual(target[common].utf8)
        {
            common += 1
        }
        let up = repeatElement("..", count: folder.count - common)
        let folders = target[common...].dropLast().map { Self.encoded($0) }
        let name = target.last.map { Self.name($0) } ?? ""
        let path = (up + folders + [name]).joined(separator: "/")
        // The first component of a relative path holds no colon.
        return path.prefix { $0 != "/" }.contains(":") ? "./\(path)" : path
    }

    /// A file's name, which may hold a query: see `SiteKey`.
    private static func name(_ name: Substring) -> String {
        guard let question = name.firstIndex(of: "?") else { return encoded(name) }
        let query = name[question...].dropFirst()
        let isQuery = query.contains("=") && query.utf8.allSatisfy { ASCII.isIn(.queryName, $0) }
        return isQuery ? "\(encoded(name[..<question]))?\(query)" : encoded(name)
    }

    /// Percent-encoded but for slashes and what stands in a path as it is.
    private static func encoded(_ text: some StringProtocol) -> String {
        var out: [UInt8] = []
        for byte in text.utf8 {
            if ASCII.isIn(.path, byte) {
                out.append(byte)
            } else {
                ASCII.appendEscape(of: byte, to: &out)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
