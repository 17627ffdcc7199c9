package import Model

/// The titles that a fill plan chooses from.
///
/// A file of a log belongs to the asset with its key; the other files in the folder of a title's
/// manifest, and in folders below it, belong to that title.
package struct FillTitles: Sendable {
    package static let most = 1_000_000

    package struct Title: Sendable {
        package var asset: AssetSubmission
        /// Size; nil if it is not known yet.
        package var bytes: Double?
        /// Relative popularity; nil if it was not given.
        package var weight: Double?

        package init(asset: AssetSubmission, bytes: Double? = nil, weight: Double? = nil) {
            self.asset = asset
            self.bytes = bytes
            self.weight = weight
        }
    }

    package private(set) var titles: [Title] = []
    private var byKey: [String: Int32] = [:]
    private var byFolder: [String: Int32] = [:]

    package init() {}

    /// Adds a title, or adds what is known to one with the same key. Throws `input.tooLarge` beyond
    /// `most`.
    package mutating func add(_ title: Title) throws(Failure) {
        let key = Self.path(title.asset.key)
        if let index = byKey[key] {
            titles[Int(index)].bytes = title.bytes ?? titles[Int(index)].bytes
            titles[Int(index)].weight = title.weight ?? titles[Int(index)].weight
            return
        }
        guard titles.count < Self.most else {
            throw Failure(
                .inputTooLarge,
                "the plan has more than \(Self.most) titles; plan the head of the list, or one "
                    + "part after the other.")
        }
        let index = Int32(titles.count)
        titles.append(title)
        byKey[key] = index
        guard title.asset.kind != .file, let folder = Self.folder(of: key[...]) else { return }
        if byFolder[String(folder)] == nil { byFolder[String(folder)] = index }
    }

    /// Returns the index of the title that a file of a log belongs to; nil for none.
    package func index(ofFile key: String) -> Int? {
        if let index = byKey[key] { return Int(index) }
        var folder = Self.folder(of: key[...])
        while let found = folder {
            if let index = byFolder[String(found)] { return Int(index) }
            folder = Self.folder(of: found)
        }
        return nil
    }

    /// A key without its query, as a log's path.
    private static func path(_ key: String) -> String {
        key.firstIndex(of: "?").map { String(key[..<$0]) } ?? key
    }

    /// Returns the folder of a key; nil at the top, which would hold everything.
    static func folder(of key: Substring) -> Substring? {
        key.lastIndex(of: "/").map { key[..<$0] }
    }
}
