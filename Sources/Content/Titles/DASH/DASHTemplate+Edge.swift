import Model
import Text
import WebURL

/// Converts templates with queries for the edge.
extension DASHTemplate {
    /// Assumed maximum length of a number in bytes; one with a width has that length.
    private static let numberBytes = 20

    /// Returns the template of the stored files: `text` itself if file names contain its query
    /// unchanged (see `SiteKey`).
    ///
    /// Otherwise unsafe bytes of the query are percent-encoded. A query that makes names too long
    /// becomes `=`, its hash, and its identifiers. Keys are made from that, because a template
    /// cannot contain the hashes of its segments. Parameters that do not belong to keys are
    /// removed. A malformed template stays unchanged.
    static func atEdge(_ text: [UInt8], _ names: KeyQueryRules.Names) -> [UInt8] {
        guard text.contains(ASCII.question) else { return text }
        let pieces = text.split(separator: ASCII.dollar, omittingEmptySubsequences: false)
        guard pieces.count % 2 == 1 else { return text }
        var edge = EdgeQuery(names)
        for (index, piece) in pieces.enumerated() {
            guard index % 2 == 0 else {
                edge.take(identifier: piece)
                continue
            }
            for byte in piece {
                if byte == ASCII.hash { return edge.template(otherwise: text) }
                edge.take(byte)
            }
        }
        return edge.template(otherwise: text)
    }

    private struct EdgeQuery {
        private let names: KeyQueryRules.Names
        private var path: [UInt8] = []
        private var query: [UInt8] = []
        private var identifiers: [UInt8] = []
        private var isQuery = false
        private var isChanged = false
        /// Length of the longest file name in bytes.
        private var nameBytes = 0

        init(_ names: KeyQueryRules.Names) { self.names = names }

        mutating func take(identifier: ArraySlice<UInt8>) {
            let part = [ASCII.dollar] + identifier + [ASCII.dollar]
            if isQuery { query += part } else { path += part }
            if identifier.isEmpty {
                nameBytes += 1
                return
            }
            if isQuery { identifiers += [ASCII.minus] + part }
            let hasWidth = identifier.contains(ASCII.percent)
            nameBytes += hasWidth ? DASHTemplate.maximumWidth : DASHTemplate.numberBytes
        }

        mutating func take(_ byte: UInt8) {
            nameBytes += 1
            guard isQuery else {
                if byte == ASCII.slash { nameBytes = 0 }
                if byte == ASCII.question { isQuery = true } else { path.append(byte) }
                return
            }
            if ASCII.isIn(.queryName, byte) {
                query.append(byte)
            } else {
                isChanged = true
                nameBytes += 2
                ASCII.appendEscape(of: byte, to: &query)
            }
        }

        func template(otherwise text: [UInt8]) -> [UInt8] {
            guard !query.isEmpty else { return text }
            guard let kept = SignedQuery.withoutSecrets(query[...], names) else {
                return template(query, otherwise: text)
            }
            // If a secret differs per segment, keys without it would not be distinct.
            guard
                query.count(where: { $0 == ASCII.dollar })
                    == kept.count(where: { $0 == ASCII.dollar })
            else { return text }
            return kept.isEmpty
                ? (path.last == ASCII.slash ? path + "index.html".utf8 : path)
                : template(kept, otherwise: nil)
        }

        /// Returns the template with a query.
        ///
        /// - Parameter text: the original template if it may stay unchanged; otherwise nil.
        private func template(_ query: [UInt8], otherwise text: [UInt8]?) -> [UInt8] {
            let file = path.last == ASCII.slash ? path + "index.html".utf8 : path
            if nameBytes >= SiteKey.queryNameBytes {
                return file + "?=".utf8 + StableHash.hex(query[...]) + identifiers
            }
            let hasEquals = query.contains(ASCII.equals)
            if let text, !isChanged, hasEquals, file.count == path.count { return text }
            return file + [ASCII.question] + query + (hasEquals ? [] : [ASCII.equals])
        }
    }
}

extension KeyQueryRules {
    /// Returns the names of parameters for a reference, by its text before the first identifier.
    func names(ofReference text: [UInt8], at base: WebURL) -> Names {
        guard !isEmpty else { return Names() }
        if ReferenceBase.hasScheme(text, text.indices) {
            return names(ofOrigin: originName(of: String(decoding: text, as: UTF8.self)))
        }
        guard ASCII.hasPrefix(text, text.indices, "//") else { return names(of: base.text.utf8) }
        let whole = (base.isSecure ? "https:" : "http:") + String(decoding: text, as: UTF8.self)
        return names(ofOrigin: originName(of: whole))
    }
}
