import Model

/// The hosts that a load test's requests may go to: those of its targets and those of its `allow`
/// list.
///
/// An entry is a host name, `*.example.com` for all names under one, or an address block. Blocks
/// are separated here and checked after the address lookup.
package struct LoadAllowance: Sendable, Equatable {
    private var names: Set<String> = []
    /// With the dot: `.example.com`.
    private var suffixes: Set<String> = []
    /// Address blocks as given.
    package private(set) var blocks: [String] = []

    /// Creates an allowance.
    ///
    /// - Parameter entries: results of `checked`.
    package init(hosts: some Sequence<String>, entries: [String]) {
        names = Set(hosts)
        for entry in entries {
            if Self.isAddress(entry) {
                blocks.append(entry)
            } else if entry.hasPrefix("*") {
                suffixes.insert(String(entry.dropFirst()))
            } else {
                names.insert(entry)
            }
        }
    }

    /// Returns true if a host, as `host(of:)` returns it, is admitted by its name.
    package func admits(_ host: String) -> Bool {
        if names.contains(host) { return true }
        guard !suffixes.isEmpty else { return false }
        return host.indices.contains { host[$0] == "." && suffixes.contains(String(host[$0...])) }
    }

    /// Returns a URL's host in lowercase, an IPv6 address without brackets; nil for other than web
    /// URLs.
    package static func host(of url: String) -> String? {
        guard let origin = originName(of: url) else { return nil }
        let authority = origin.drop { $0 != "/" }.dropFirst(2)
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }

    /// Returns a valid entry of an `allow` list in lowercase.
    package static func checked(_ text: String) throws(LoadInputError) -> String {
        let entry = text.lowercased()
        if isAddress(entry) {
            if entry.utf8.allSatisfy({ "0123456789abcdef.:/".utf8.contains($0) }) { return entry }
        } else {
            let name = entry.hasPrefix("*.") ? entry.dropFirst(2) : entry[...]
            let labels = name.split(separator: ".", omittingEmptySubsequences: false)
            let isName = labels.allSatisfy { label in
                (1...63).contains(label.utf8.count)
                    && label.utf8.allSatisfy {
                        "abcdefghijklmnopqrstuvwxyz0123456789-_".utf8.contains($0)
                    }
            }
            if isName, name.utf8.count <= 253 { return entry }
        }
        throw LoadInputError(
            given: text, allowed: "a host's name, *.example.com, or addresses: 10.0.0.0/8")
    }

    /// Returns true for an address entry: host names never consist of digits and dots only, and
    /// have no colon or slash.
    package static func isAddress(_ entry: String) -> Bool {
        entry.contains("/") || entry.contains(":")
            || entry.utf8.allSatisfy { "0123456789.".utf8.contains($0) }
    }
}
