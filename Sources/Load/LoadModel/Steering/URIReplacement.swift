import Model
import WebURL

/// The differences between URLs of a pathway's clone and those of the pathway (URI-REPLACEMENT; RFC
/// 8216bis, section 7.3; ETSI TS 103 998).
package struct URIReplacement: Sendable, Equatable {
    /// A host, with a port or without one; nil for the same.
    var host: String?
    /// Query parameters, percent-encoded, sorted by name.
    var parameters: [(name: String, value: String)] = []
    /// Whole URLs of playlists by STABLE-VARIANT-ID and by STABLE-RENDITION-ID.
    var variants: [String: String] = [:]
    var renditions: [String: String] = [:]

    package static func == (left: URIReplacement, right: URIReplacement) -> Bool {
        left.host == right.host && left.variants == right.variants
            && left.renditions == right.renditions
            && left.parameters.elementsEqual(right.parameters) { $0 == $1 }
    }

    /// Returns the URL of a playlist, or of a base, of the clone.
    func url(_ url: String, _ id: SteeringSource.StableID?) -> String {
        var url = url
        if let id, let own = (id.isRendition ? renditions : variants)[id.text] {
            url = own
        } else if let host {
            url = Self.replaceHost(of: url, by: host)
        }
        return withParameters(url)
    }

    /// Sets the parameters; one of the same name is replaced.
    func withParameters(_ url: String) -> String {
        guard !parameters.isEmpty else { return url }
        let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let names = Set(parameters.map { Substring($0.name) })
        var query = (parts.count > 1 ? parts[1] : "").split(separator: "&").filter {
            !names.contains($0.prefix { $0 != "=" })
        }
        query += parameters.map { "\($0.name)=\($0.value)" }
        return "\(parts[0])?\(query.joined(separator: "&"))"
    }

    static func replaceHost(of url: String, by host: String) -> String {
        guard let colon = url.firstIndex(of: ":") else { return url }
        // After the two slashes.
        let rest = url[colon...].dropFirst(3)
        return "\(url[...colon])//\(host)\(rest.drop { $0 != "/" && $0 != "?" })"
    }
}
