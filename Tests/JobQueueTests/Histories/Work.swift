import Model

/// One thing a worker can be asked to do, named by what it is of: a job's number may change.
struct Work: Hashable, Comparable, Sendable, CustomStringConvertible {
    var kind: JobKind
    /// Number of the catalog in the history, from 0.
    var catalog: Int
    /// The asset's name; of `checksums`, the directory.
    var name: String
    var ordinal = 0
    /// Of a part: where it starts.
    var offset: Int64?

    static func resolve(_ asset: AssetKey) -> Work {
        Work(kind: .resolve, catalog: asset.catalog, name: asset.name)
    }

    static func fetch(_ asset: AssetKey, _ ordinal: Int, offset: Int64? = nil) -> Work {
        Work(
            kind: .fetch, catalog: asset.catalog, name: asset.name, ordinal: ordinal,
            offset: offset)
    }

    static func verify(_ asset: AssetKey, _ ordinal: Int) -> Work {
        Work(kind: .verify, catalog: asset.catalog, name: asset.name, ordinal: ordinal)
    }

    static func refresh(_ asset: AssetKey) -> Work {
        Work(kind: .refresh, catalog: asset.catalog, name: asset.name)
    }

    static func publish(_ asset: AssetKey) -> Work {
        Work(kind: .publish, catalog: asset.catalog, name: asset.name)
    }

    static func checksums(_ catalog: Int, _ directory: String) -> Work {
        Work(kind: .checksums, catalog: catalog, name: directory)
    }

    /// The asset it is of; of `checksums`, none.
    var asset: AssetKey? { kind == .checksums ? nil : AssetKey(catalog: catalog, name: name) }

    /// Without the part, because the holder of a file that was split may know it as either.
    var wholeFile: Work {
        var whole = self
        whole.offset = nil
        return whole
    }

    var description: String {
        let place = kind == .fetch || kind == .verify ? "#\(ordinal)" : ""
        return "\(kind.rawValue) c\(catalog)/\(name)\(place)"
            + (offset.map { "@\($0 >> 20)M" } ?? "")
    }

    static func < (left: Work, right: Work) -> Bool { left.description < right.description }
}

/// An asset by its catalog's number in the history and its name.
struct AssetKey: Hashable, Sendable {
    var catalog: Int
    var name: String
}

/// What a worker holds of one job: the lease it came with, by its number in the history, and what
/// it was then. Every claim makes tickets that were never there before, so an old one is stale
/// whatever became of the job.
struct Ticket: Hashable, Sendable, CustomStringConvertible {
    var lease: Int
    var work: Work

    var description: String { "\(work) of lease \(lease)" }
}

/// An asset in a list.
struct AssetSpec: Hashable, Sendable {
    var name: String
    var kind: AssetKind
    var url: String
    var key: String
    var bytes: Int64?
    var sha256: String?

    var directory: String {
        key.split(separator: "/").dropLast().joined(separator: "/")
    }

    /// It can be fetched during its origin's cooldown, once a sweep has moved it.
    var hasMirror: Bool { kind == .file }

    var submission: AssetSubmission {
        var asset = AssetSubmission(
            name: name, url: url, kind: kind, key: key, bytes: bytes, sha256: sha256)
        if hasMirror { asset.mirrors = ["http://mirror.test/\(key)"] }
        return asset
    }
}

/// A segment in a manifest.
struct SegmentSpec: Hashable, Sendable {
    var ordinal: Int
    var url: String
    var key: String
    /// A file's length and digest in a list.
    var bytes: Int64?
    var sha256: String?

    var resolved: ResolvedSegment {
        ResolvedSegment(ordinal: ordinal, url: url, key: key, role: .media)
    }
}

/// What names the object of a URL: the URL without its signature or session, which catalogs leave out of keys.
func objectOf(_ url: String) -> String {
    ["?Signature=", "?session="].reduce(url) { url, mark in
        String(url.split(separator: mark, omittingEmptySubsequences: false)[0])
    }
}

/// What catalogs leave out.
let leftOutOfKeys = [KeyQueryRule(leaveOut: ["session"])]

func isSigned(_ url: String) -> Bool { objectOf(url) != url }

/// Scheme and authority of a URL.
func originOf(_ url: String) -> String {
    url.split(separator: "/").prefix(2).joined(separator: "//")
}
