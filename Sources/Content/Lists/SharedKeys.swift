import Model
import Text
import WebURL

/// Keys shared by URLs of a list that differ only in tokens.
///
/// Each of their files gets a key with a hash. Titles do not, as their segments would still share
/// keys. Keys are stored as 64-bit keyed hashes whose key is new in each process: the result of one
/// pass serves the next pass of the same process.
package struct SharedKeys: Sendable {
    /// Maximum number. Most lists have none, others a few: those of an endpoint with tokens.
    static let most = 100_000

    private var hashes: Set<UInt64> = []

    package init() {}

    package var isEmpty: Bool { hashes.isEmpty }

    static func hash(_ key: String) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(key)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    mutating func insert(_ hash: UInt64) throws(Failure) {
        guard hashes.count < Self.most || hashes.contains(hash) else {
            throw Failure(
                .inputTooLarge,
                "a list holds at most \(Self.most) groups of URLs that differ only in tokens"
            )
        }
        hashes.insert(hash)
    }

    /// Gives the files of an asset separate keys if other files of the list share theirs.
    func separate(_ asset: inout AssetSubmission, _ rules: KeyQueryRules) throws(Failure) {
        if asset.kind == .file, let key = try ownKey(asset.key, of: asset.url, rules) {
            if asset.name == ListReader.defaultName(asset.key) {
                asset.name = ListReader.defaultName(key)
            }
            asset.key = key
        }
        guard let sidecars = asset.sidecars else { return }
        for index in sidecars.indices {
            guard let key = try ownKey(sidecars[index].key, of: sidecars[index].url, rules) else {
                continue
            }
            asset.sidecars?[index].key = key
        }
    }

    private func ownKey(
        _ key: String, of url: String, _ rules: KeyQueryRules
    ) throws(Failure) -> String? {
        hashes.contains(Self.hash(key)) ? try Self.ownKey(of: url, rules) : nil
    }

    /// Returns a URL without its signatures: equal for URLs of one object.
    static func object(of url: String, _ rules: KeyQueryRules) -> String {
        guard mayHoldSecrets(url) else { return url }
        return String(decoding: SignedQuery.unsigned(Array(url.utf8), rules), as: UTF8.self)
    }

    private static func mayHoldSecrets(_ url: String) -> Bool {
        url.utf8.contains {
            $0 == ASCII.question || $0 == ASCII.equals || $0 == ASCII.percent
        }
    }

    /// Returns the key of a URL with a hash; nil if its key includes the whole URL.
    static func ownKey(of text: String, _ rules: KeyQueryRules) throws(Failure) -> String? {
        guard mayHoldSecrets(text), let url = try? WebURL(text),
            SiteKey.hidesSecrets(of: url, rules)
        else { return nil }
        return try SiteKey(url, rules, isApart: true).text
    }
}

extension AssetSubmission {
    /// Sets the keys of an asset and its sidecars by `rules`, and the asset's name if it is the
    /// key.
    mutating func rekey(_ rules: KeyQueryRules) throws(Failure) {
        guard !rules.isEmpty else { return }
        if let key = try Self.key(of: url, rules), key != self.key {
            if name == ListReader.defaultName(self.key) { name = ListReader.defaultName(key) }
            self.key = key
        }
        for index in (sidecars ?? []).indices {
            guard let url = sidecars?[index].url, let key = try Self.key(of: url, rules) else {
                continue
            }
            sidecars?[index].key = key
        }
    }

    /// Returns nil without a query.
    private static func key(of url: String, _ rules: KeyQueryRules) throws(Failure) -> String? {
        guard url.utf8.contains(ASCII.question), let url = try? WebURL(url) else { return nil }
        return try SiteKey(url, rules).text
    }
}
