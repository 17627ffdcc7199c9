package import API
package import CoordinatorClient
package import ListSources
package import Lists
package import Model
import Rendering
import Text

/// Compares a list with the assets of its catalog, and changes nothing.
///
/// Keeps eight bytes and a bit per asset of the catalog: a list may have millions.
package struct ListPreview: Sendable {
    let catalog: CatalogReference
    let source: ListSource
    let sharedKeys: SharedKeys
    let prunes: Bool

    /// Maximum number of names in each part of the text.
    private static let listedNames = 20

    package init(
        catalog: CatalogReference, source: ListSource, sharedKeys: SharedKeys, prunes: Bool
    ) {
        self.catalog = catalog
        self.source = source
        self.sharedKeys = sharedKeys
        self.prunes = prunes
    }

    /// Names of one part of the comparison: the first ones, and their number.
    private struct Names {
        var count = 0
        var first: [String] = []

        mutating func add(_ name: String) {
            count += 1
            if first.count < ListPreview.listedNames { first.append(name) }
        }

        func text(_ heading: String) -> String {
            var text = "\(heading): \(HumanFormat.count(count, "asset"))\n"
            for name in first { text += "  \(printable(name))\n" }
            if count > first.count {
                text += "  and \(HumanFormat.count(count - first.count)) more\n"
            }
            return text
        }
    }

    /// Returns the comparison. Without a client, no cluster exists yet.
    package func text(_ client: CoordinatorClient?) async throws(Failure) -> String {
        var known: [UInt64] = []
        try await forEachAsset(client) { known.append(Self.hash(of: $0.name)) }
        known.sort()
        var isNamed = [Bool](repeating: false, count: known.count)
        var added = Names()
        _ = try await source.read(.submission(sharedKeys)) { assets throws(Failure) in
            for asset in assets {
                if let index = Self.index(of: asset.name, in: known) {
                    isNamed[index] = true
                } else {
                    added.add(asset.name)
                }
            }
        }
        var left = Names()
        try await forEachAsset(client) { asset in
            if let index = Self.index(of: asset.name, in: known), !isNamed[index] {
                left.add(asset.redactedName)
            }
        }
        return added.text("Would add") + left.text(prunes ? "Would remove" : "Would leave out")
    }

    private func forEachAsset(
        _ client: CoordinatorClient?, _ body: (AssetStatus) -> Void
    ) async throws(Failure) {
        guard let client else { return }
        var query = AssetQuery(catalog)
        do throws(Failure) {
            repeat {
                let page = try await client.assets(query)
                for asset in page.assets where !asset.state.isGone { body(asset) }
                query.after = page.next
            } while query.after != nil
        } catch {
            // The list would create its catalog.
            guard error.code == .inputNotFound else { throw error }
        }
    }

    private static func index(of name: String, in known: [UInt64]) -> Int? {
        let hash = hash(of: name)
        var (low, high) = (0, known.count)
        while low < high {
            let middle = (low + high) / 2
            if known[middle] < hash { low = middle + 1 } else { high = middle }
        }
        return low < known.count && known[low] == hash ? low : nil
    }

    /// FNV-1a, 64 bits.
    private static func hash(of name: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }
}
