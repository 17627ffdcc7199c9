import Model
import WebURL

extension DASHManifest {
    /// Returns the manifest's content steering, and its service locations; nil without any.
    ///
    /// Locations are those of BaseURLs at all levels, and of the Locations of a live MPD. Without a
    /// steering server they matter if a level has several. Throws `manifest.unsupported` if it cannot be followed, and
    /// `manifest.tooMany`.
    func contentSteering() throws(Failure) -> ContentSteering? {
        var names: [String] = []
        var known: Set<String> = []
        var hasChoice = false
        try forEachLevel { (urls) throws(Failure) in
            var own: Set<String> = []
            for url in urls where !url.location.isEmpty {
                guard ContentSteering.isName(url.location) else {
                    guard steering != nil else { continue }
                    throw ContentSteering.failure(
                        "\(self.url)",
                        "the serviceLocation \(Redaction.shown(url.location)) cannot be sent")
                }
                own.insert(url.location)
                if known.insert(url.location).inserted { names.append(url.location) }
            }
            hasChoice = hasChoice || own.count > 1
        }
        guard steering != nil && !names.isEmpty || hasChoice else { return nil }
        guard names.count <= ContentSteering.maxPathways else {
            throw failure(
                .manifestTooMany,
                "content steering: more than \(ContentSteering.maxPathways) service locations")
        }
        var result = ContentSteering()
        result.locations = names
        guard let steering else { return result }
        result.serverURL = try steeringURL(steering.server, "the server's URL")
        result.proxyURL = try steering.proxy.map { (proxy) throws(Failure) in
            try steeringURL(proxy, "the URL of its proxy (proxyServerURL)")
        }
        result.first = steering.firstLocations
        result.asksBeforeStart = steering.asksBeforeStart
        return result
    }

    /// The URLs from which a live MPD is requested again; nil without a Location.
    var reloads: BaseURLLevels? { isLive ? BaseURLLevels(locations: locations, at: url) : nil }

    /// Calls `body` with the BaseURLs of every level, outer ones first, and with the Locations.
    private func forEachLevel(_ body: ([BaseURL]) throws(Failure) -> Void) throws(Failure) {
        try body(baseURLs)
        if isLive { try body(locations) }
        for period in periods {
            try body(period.baseURLs)
            for set in period.sets {
                try body(set.baseURLs)
                for representation in set.representations { try body(representation.baseURLs) }
            }
        }
    }

    private func steeringURL(_ reference: String, _ name: String) throws(Failure) -> String {
        do throws(WebURLError) { return try url.resolve(reference).text } catch {
            throw ContentSteering.failure("\(url)", "\(name) \(error.detail)")
        }
    }
}
