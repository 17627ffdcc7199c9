import API
import Model

extension Validation {
    /// Checks the sites from which a site's files are fetched: storage URLs, each once.
    static func check(neighbours: [String], of site: String) throws(Failure) {
        try range(neighbours.count, "neighbours", 0...WireLimits.neighboursPerCatalog)
        var named: Set<String> = [try storageURL(site)]
        for (index, neighbour) in neighbours.enumerated() {
            let url = try storageURL(neighbour, "neighbours[\(index)]")
            guard named.insert(url).inserted else {
                throw Failure(
                    .inputDuplicate,
                    "neighbours[\(index)]: the site \(redacted(url: url)) is named twice; name each "
                        + "site once.")
            }
        }
    }

    /// Checks the URL under which a web server serves a site's files; empty removes it.
    static func check(serves url: String) throws(Failure) {
        guard !url.isEmpty else { return }
        let isPlain =
            url.utf8.count <= WireLimits.servesBytes
            && url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") }
        guard isPlain, !url.contains("#"), originName(of: url, allowsUserInfo: false) != nil else {
            throw wrong(
                "serves", redacted(url: url),
                "an http or https URL without credentials, query and fragment, of at most "
                    + "\(WireLimits.servesBytes) bytes; empty for none")
        }
    }
}
