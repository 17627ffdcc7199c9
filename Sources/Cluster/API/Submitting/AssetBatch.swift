package import Model

/// `POST /v1/catalogs/{id}/assets`: up to `WireLimits.assetsPerRequest` assets; may be repeated.
package struct AssetBatch: Codable, Sendable {
    package var generation: Int
    package var assets: [AssetSubmission]

    package init(generation: Int, assets: [AssetSubmission]) {
        self.generation = generation
        self.assets = assets
    }
}

// MARK: Fields

extension AssetBatch: WireTable {
    package enum Field: Int, WireField {
        case generation

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: AssetBatch { AssetBatch(generation: 0, assets: []) }
    package static var listName: String { "assets" }

    package var list: [AssetSubmission] {
        get { assets }
        set { assets = newValue }
    }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.generation, &generation)
    }
}

extension AssetSubmission: WireRow {
    package enum Field: Int, WireField {
        case name, url, kind, key, bytes, sha256, mirrors, digests, sidecars
        case notBefore, expiresAt, keepSeconds, found, title, maxFetches, maxSites
        case refreshSeconds, refreshByOrigin, modified, adopts

        package static let layout = RowLayout(of: Field.self)
    }

    package static var blank: AssetSubmission {
        AssetSubmission(name: "", url: "", kind: .file, key: "")
    }

    package mutating func code(with coder: inout some FieldCoder<Field>) throws {
        try coder.code(.name, &name)
        try coder.code(.url, &url)
        try coder.code(.kind, &kind)
        try coder.code(.key, &key)
        try coder.code(.bytes, &bytes)
        try coder.code(.sha256, &sha256)
        try coder.code(.mirrors, &mirrors)
        try coder.code(.digests, &digests)
        try coder.codeJSON(.sidecars, &sidecars)
        try coder.code(.notBefore, &notBefore)
        try coder.code(.expiresAt, &expiresAt)
        try coder.code(.keepSeconds, &keepSeconds)
        try coder.codeJSON(.found, &found)
        try coder.code(.title, &title)
        try coder.codeJSON(.maxFetches, &maxFetches)
        try coder.code(.maxSites, &maxSites)
        try coder.code(.refreshSeconds, &refreshSeconds)
        var byOrigin = refreshByOrigin == true
        try coder.codeFlag(.refreshByOrigin, &byOrigin)
        refreshByOrigin = byOrigin ? true : nil
        try coder.code(.modified, &modified)
        var mayFind = adopts == true
        try coder.codeFlag(.adopts, &mayFind)
        adopts = mayFind ? true : nil
    }
}
