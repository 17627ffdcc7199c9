import API
import Model

/// The assets of a list as they are requested through a cache: each at every POP.
///
/// A POP is the first component of their names and keys, and the host of their URLs. So a POP has
/// jobs, attempts, failures, limits and a circuit breaker of its own.
struct CachedAssets {
    let cache: CacheLocation

    /// Throws `input.cacheSite` for rights, which would delete files, and for recordings, which
    /// are made of stored ones.
    static func check(_ submission: CatalogSubmission) throws(Failure) {
        guard try StorageURL(submission.storageURL).cache != nil else { return }
        try refuse(submission.expiresAt != nil, "expiresAt")
        try refuse(submission.keepSeconds != nil, "keepSeconds")
        try refuse(submission.refreshSeconds != nil, "refreshSeconds")
        try refuse(submission.refreshByOrigin == true, "refreshByOrigin")
        try refuse(submission.neighbours?.isEmpty == false, "neighbours")
        guard submission.titles?.records ?? false else { return }
        throw Failure(
            .inputCacheSite,
            "titles.records: true was given; allowed at a cache: false. It stores nothing that a "
                + "recording could be made of; titles.takesSnapshots warms what a live title lists "
                + "when it is read.")
    }

    private static func refuse(_ isGiven: Bool, _ field: String) throws(Failure) {
        guard isGiven else { return }
        throw Failure(
            .inputCacheSite,
            "\(field) was given; allowed at a cache: none. It keeps objects by its own rules.")
    }

    /// Returns the assets of all POPs. Throws `input.cacheSite` for what only storage has, and
    /// `input.field` for names and keys that are too long with their POP.
    func each(_ assets: [AssetSubmission]) throws(Failure) -> [AssetSubmission] {
        var all: [AssetSubmission] = []
        all.reserveCapacity(assets.count * cache.pops.count)
        for asset in assets {
            try Self.refuse(asset.expiresAt != nil, "expiresAt of \(asset.name)")
            try Self.refuse(asset.keepSeconds != nil, "keepSeconds of \(asset.name)")
            try Self.refuse(asset.refreshSeconds != nil, "refreshSeconds of \(asset.name)")
            try Self.refuse(asset.refreshByOrigin == true, "refreshByOrigin of \(asset.name)")
            try Self.refuse(asset.found != nil, "found of \(asset.name)")
            try Self.refuse(asset.adopts == true, "adopts of \(asset.name)")
            for pop in cache.pops { all.append(try self.asset(asset, at: pop)) }
        }
        return all
    }

    private func asset(_ asset: AssetSubmission, at pop: String) throws(Failure) -> AssetSubmission
    {
        var asset = asset
        let host = Self.authority(of: asset.url)
        asset.name = Self.path(asset.name, without: host, at: pop)
        asset.key = Self.path(asset.key, without: host, at: pop)
        asset.url = try url(asset.url, at: pop)
        // A mirror is another host, which viewers of this one do not request.
        asset.mirrors = nil
        asset.sidecars = try asset.sidecars.map { sidecars throws(Failure) in
            try sidecars.map { sidecar throws(Failure) in
                var sidecar = sidecar
                sidecar.key = Self.path(
                    sidecar.key, without: Self.authority(of: sidecar.url), at: pop)
                sidecar.url = try url(sidecar.url, at: pop)
                return sidecar
            }
        }
        let keys = [asset.key] + (asset.sidecars ?? []).map(\.key)
        guard asset.name.utf8.count <= WireLimits.nameBytes,
            keys.allSatisfy({ $0.utf8.count <= WireLimits.keyBytes })
        else {
            throw Failure(
                .inputField,
                "name, key: \(Redaction.shown(asset.name, limit: 80)) is too long with its POP; "
                    + "allowed: \(WireLimits.nameBytes) bytes of a name, \(WireLimits.keyBytes) of "
                    + "a key.")
        }
        return asset
    }

    private func url(_ url: String, at pop: String) throws(Failure) -> String {
        guard let mapped = cache.url(url, at: pop) else {
            throw Failure(
                .inputURL, "url: \(redacted(url: url).prefix(80)) is not an http or https URL.")
        }
        return mapped
    }

    private static func authority(of url: String) -> Substring? {
        guard let origin = originName(of: url), let start = origin.firstRange(of: "://") else {
            return nil
        }
        return origin[start.upperBound...]
    }

    /// Returns a name or key with the POP in place of the URL's host, or before it.
    private static func path(_ text: String, without host: Substring?, at pop: String) -> String {
        if let host, text.hasPrefix("\(host)/") { return "\(pop)\(text.dropFirst(host.count))" }
        return "\(pop)/\(text)"
    }
}
