/// A cache that viewers request from, to be warmed: `cache:https://edge.example?pop=192.0.2.1`.
///
/// It stores nothing of Dray's: workers request each object through it. Each POP is requested by
/// its own address, with the host of the edge. Canonical: one text for each value.
package struct CacheLocation: Hashable, Sendable {
    /// `http` or `https`.
    package let scheme: String
    /// Host that viewers request, in lower case, with `:port` unless it is the scheme's default.
    package let edge: String
    /// Addresses of the POPs, sorted, in the form of `edge`; empty to use the edge's name.
    private let addresses: [String]

    package static let maxPOPs = 64

    /// The POPs, as an origin's authority; the edge itself if none has an address.
    package var pops: [String] { addresses.isEmpty ? [edge] : addresses }

    /// The URL of an edge's or POP's root, without a slash at its end.
    package func url(of pop: String) -> String { "\(scheme)://\(pop)" }

    /// Returns the URL of the same path and query at a POP; nil if `url` is not http or https.
    package func url(_ url: String, at pop: String) -> String? {
        guard let target = Self.target(of: url) else { return nil }
        return self.url(of: pop) + target
    }

    /// Returns a URL that a manifest at `pop` names, as it is requested there; nil if viewers
    /// request it elsewhere.
    package func served(_ url: String, at pop: String) -> String? {
        for known in [pop, edge] {
            let root = self.url(of: known)
            guard url.hasPrefix(root), let next = url.dropFirst(root.count).first else { continue }
            if next == "/" || next == "?" { return self.url(url, at: pop) }
        }
        return nil
    }

    /// Path and query, without the fragment.
    private static func target(of url: String) -> String? {
        guard let start = url.firstRange(of: "://") else { return nil }
        let rest = url[start.upperBound...].prefix { $0 != "#" }
        let target = rest.drop { $0 != "/" && $0 != "?" }
        return target.hasPrefix("/") ? String(target) : "/" + target
    }

    /// Parses the text after `cache:`. Throws `storage.unreachable` with the part that is wrong.
    init(afterScheme text: Substring) throws(Failure) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let base = String(parts[0])
        guard let colon = base.firstRange(of: "://") else { throw Self.form(base) }
        scheme = base[..<colon.lowerBound].lowercased()
        guard ["http", "https"].contains(scheme) else { throw Self.form(base) }
        let defaultPort = scheme == "http" ? 80 : 443
        let host = base[colon.upperBound...]
        let authority = host.hasSuffix("/") ? host.dropLast() : host
        guard let edge = Self.authority(authority, scheme: scheme) else {
            throw Self.form(base)
        }
        self.edge = edge
        // A POP without a port listens on the edge's.
        let edgePort = Self.port(of: edge) ?? defaultPort
        var found: Set<String> = []
        for field in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            guard field.hasPrefix("pop="),
                let value = StorageURL.decodePercents(field.dropFirst(4)),
                Self.isAddress(value),
                let address = Self.authority(
                    Self.endsInPort(value[...]) ? value[...] : "\(value):\(edgePort)",
                    scheme: scheme)
            else {
                throw Self.wrong(
                    "a field of a cache's URL is pop=ADDRESS or pop=ADDRESS:PORT with an IPv4 or "
                        + "[IPv6] address, given "
                        + Redaction.shown(String(field), limit: 100).debugDescription)
            }
            guard found.insert(address).inserted else {
                throw Self.wrong("the POP \(address) appears twice in a cache's URL")
            }
        }
        guard found.count <= Self.maxPOPs else {
            throw Self.wrong("a cache has at most \(Self.maxPOPs) POPs, given \(found.count)")
        }
        addresses = found.sorted()
    }

    private static func form(_ base: String) -> Failure {
        wrong(
            "a cache's URL is cache:https://HOST or cache:http://HOST:PORT without a path, then "
                + "?pop=ADDRESS for each POP, given "
                + Redaction.shown(base, limit: 200).debugDescription)
    }

    private static func wrong(_ message: String) -> Failure {
        Failure(.storageUnreachable, message)
    }

    private static func port(of authority: String) -> Int? {
        guard let colon = authority.lastIndex(of: ":"),
            !authority[colon...].contains("]")
        else { return nil }
        return Int(authority[authority.index(after: colon)...])
    }

    /// Returns an authority as an origin's name has it; nil if it is none.
    private static func authority(_ text: Substring, scheme: String) -> String? {
        let isPlain = text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                || "-._:[]".utf8.contains($0)
        }
        guard isPlain, text.utf8.count <= 260, !text.hasPrefix(":"),
            port(of: String(text)).map({ (1...65_535).contains($0) }) ?? !endsInPort(text),
            let origin = originName(of: "\(scheme)://\(text)")
        else { return nil }
        return String(origin.dropFirst(scheme.count + 3))
    }

    /// True for a colon behind the host, whatever follows.
    private static func endsInPort(_ text: Substring) -> Bool {
        text.lastIndex(of: ":").map { !text[$0...].contains("]") } ?? false
    }

    /// True for an IPv4 address, or an IPv6 address in brackets, with or without a port.
    private static func isAddress(_ text: String) -> Bool {
        if text.hasPrefix("[") {
            let literal = text.dropFirst().prefix { $0 != "]" }
            return literal.count { $0 == ":" } >= 2
                && literal.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
                && (text.hasSuffix("]") || text.contains("]:"))
        }
        let host = text.split(separator: ":", omittingEmptySubsequences: false)
        let octets = host[0].split(separator: ".", omittingEmptySubsequences: false)
        return host.count <= 2 && octets.count == 4 && octets.allSatisfy { UInt8($0) != nil }
    }
}

extension CacheLocation: CustomStringConvertible {
    /// The canonical URL.
    package var description: String {
        // Without a port it would be that of the edge.
        let port = Self.port(of: edge) == nil ? "" : scheme == "http" ? ":80" : ":443"
        let fields = addresses.map { "pop=\($0)" + (Self.port(of: $0) == nil ? port : "") }
        return urlWithoutFields + (fields.isEmpty ? "" : "?" + fields.joined(separator: "&"))
    }

    /// The URL without its POPs: `cache:https://edge.example`.
    package var urlWithoutFields: String { "cache:\(url(of: edge))" }
}

/// Returns a site's URL for people, without secrets; that of a cache with its POPs, by which it
/// differs from others.
package func shown(storageURL: String) -> String {
    (try? StorageURL(storageURL))?.cache?.description ?? redacted(url: storageURL)
}
