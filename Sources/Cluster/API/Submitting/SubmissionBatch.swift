package import Model

/// Collects assets into requests within the wire limits.
package struct SubmissionBatch: Sendable {
    /// Well under `WireLimits.bodyBytes`: JSON may need more bytes than the text.
    private static let maxBytes = 4 << 20
    /// A coordinator accepts 100,000 values in a body; an asset has at most 19 besides its
    /// sidecars and what was found of it.
    private static let maxValues = 96_000

    private var assets: [AssetSubmission] = []
    /// Names in the batch: a list may contain an asset twice, a request only once.
    private var names: Set<String> = []
    private var bytes = 0
    private var values = 0

    package init() {}

    /// Adds an asset; returns the batch if it is now full.
    package mutating func add(_ asset: AssetSubmission) -> [AssetSubmission]? {
        guard names.insert(asset.name).inserted else { return nil }
        assets.append(asset)
        bytes += asset.name.utf8.count + asset.url.utf8.count + asset.key.utf8.count + 200
        bytes += (asset.mirrors ?? []).reduce(0) { $0 + $1.utf8.count + 4 }
        for sidecar in asset.sidecars ?? [] {
            bytes += sidecar.url.utf8.count + sidecar.key.utf8.count + 400
        }
        values += 19 + 8 * (asset.sidecars?.count ?? 0) + (asset.found == nil ? 0 : 6)
        let isFull =
            assets.count >= WireLimits.assetsPerRequest || bytes >= Self.maxBytes
            || values >= Self.maxValues
        return isFull ? takeRest() : nil
    }

    /// Returns the rest as a batch; nil if it is empty.
    package mutating func takeRest() -> [AssetSubmission]? {
        guard !assets.isEmpty else { return nil }
        defer { (assets, names, bytes, values) = ([], [], 0, 0) }
        return assets
    }
}
