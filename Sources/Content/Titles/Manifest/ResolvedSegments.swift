package import Model
import WebURL

/// Every object of a title, once, in the order of fetching, in compact form: there may be a
/// million.
///
/// An object takes 24 bytes plus the distinct part of its URL, or 8 bytes if it refers to a
/// manifest's segments; elements are created on access.
package struct ResolvedSegments: RandomAccessCollection, Sendable {
    /// Stored attributes of manifests.
    struct Known: Sendable {
        var bytes: Int64?
        var sha256: String?
        var content: String?
    }

    private struct Row {
        /// Index of its URL; the URLs for `isNamed` and `mirrors` follow it.
        var url: UInt32
        /// Index of the table of these URLs.
        var table: UInt16
        var role: SegmentRole
        /// The lowest bit is `isNamed`, the others are `mirrors`.
        private var others: UInt8

        /// True if its key is made from another URL.
        var isNamed: Bool { others & 1 != 0 }
        var mirrors: Int { Int(others >> 1) }

        init(url: Int, table: UInt16, role: SegmentRole, isNamed: Bool, mirrors: Int) {
            self.url = UInt32(clamping: url)
            self.table = table
            self.role = role
            others = UInt8(mirrors) << 1 | (isNamed ? 1 : 0)
        }
    }

    /// Maximum number of mirrors per object.
    private static let maxMirrors = Int(UInt8.max >> 1)

    /// Rules for keys.
    private let rules: KeyQueryRules
    private var rows: [Row] = []
    /// The first is its own; the others belong to manifests.
    private var tables = [URLTable()]
    private var known: [Int: Known] = [:]
    /// Bytes of all URLs, including mirrors.
    private(set) var urlBytes = 0
    /// Broken rules of the title's manifests that players tolerate.
    package internal(set) var warnings = ManifestWarnings()
    /// Renditions that the title lacks, because a file of theirs cannot be fetched.
    package internal(set) var leftOut: [LeftOutRendition] = []

    init(_ rules: KeyQueryRules = KeyQueryRules()) { self.rules = rules }

    package var startIndex: Int { 0 }
    package var endIndex: Int { rows.count }

    /// Reserves capacity for so many objects with their own URLs.
    mutating func reserve(_ count: Int) {
        rows.reserveCapacity(count)
        tables[0].reserve(count)
    }

    mutating func append(_ reference: ManifestReference, _ role: SegmentRole, mirrors: [WebURL]) {
        let mirrors = mirrors.prefix(Self.maxMirrors)
        let url = tables[0].count
        tables[0].append(reference.url)
        if let named = reference.named { tables[0].append(named) }
        for mirror in mirrors { tables[0].append(mirror) }
        add(
            Row(
                url: url, table: 0, role: role, isNamed: reference.named != nil,
                mirrors: mirrors.count))
    }

    /// Appends the object of a plain reference without a query: see `ReferenceBase`.
    mutating func append(_ reference: [UInt8], at base: ReferenceBase, _ role: SegmentRole) {
        let url = tables[0].count
        tables[0].append(base, reference, reference.indices, queryStart: reference.count)
        add(Row(url: url, table: 0, role: role, isNamed: false, mirrors: 0))
    }

    /// Adds the URL table of a manifest's segments and returns its number.
    mutating func add(_ urls: URLTable) -> UInt16 {
        tables.append(urls)
        return UInt16(tables.count - 1)
    }

    mutating func append(_ object: ManifestSegments.Object, in table: UInt16) {
        add(
            Row(
                url: object.url, table: table, role: object.role, isNamed: object.isNamed,
                mirrors: Swift.min(object.mirrors, Self.maxMirrors)))
    }

    private mutating func add(_ row: Row) {
        let first = Int(row.url)
        let last = first + (row.isNamed ? 1 : 0) + row.mirrors
        for index in first...last { urlBytes += tables[Int(row.table)].length(at: index) }
        rows.append(row)
    }

    mutating func set(_ what: Known, at index: Int) { known[index] = what }

    mutating func set(_ role: SegmentRole, at index: Int) { rows[index].role = role }

    func role(at index: Int) -> SegmentRole { rows[index].role }

    func url(at index: Int) -> WebURL {
        let row = rows[index]
        return tables[Int(row.table)][Int(row.url)]
    }

    /// Replaces the contents of `out` by an object's URL.
    func copyURL(at index: Int, into out: inout [UInt8]) {
        let row = rows[index]
        tables[Int(row.table)].copy(Int(row.url), into: &out)
    }

    /// Replaces the contents of `out` by the URL of an object's key; returns the index of its `?`.
    func copyKeyURL(at index: Int, into out: inout [UInt8]) -> Int {
        let row = rows[index]
        let url = Int(row.url) + (row.isNamed ? 1 : 0)
        tables[Int(row.table)].copy(url, into: &out)
        return tables[Int(row.table)].queryStart(at: url)
    }

    /// Returns an object's key, which was valid when the object was added.
    func key(at index: Int) -> String {
        let row = rows[index]
        let url = tables[Int(row.table)][Int(row.url) + (row.isNamed ? 1 : 0)]
        guard let key = try? SiteKey(url, rules) else {
            preconditionFailure("a key that was made can be made again")
        }
        return key.text
    }

    package subscript(position: Int) -> ResolvedSegment {
        let row = rows[position]
        let known = known[position]
        var segment = ResolvedSegment(
            ordinal: position, url: url(at: position).text, key: key(at: position),
            role: row.role, bytes: known?.bytes, sha256: known?.sha256)
        segment.content = known?.content
        if row.mirrors > 0 {
            let first = Int(row.url) + (row.isNamed ? 2 : 1)
            segment.mirrors = (first..<(first + row.mirrors)).map {
                tables[Int(row.table)][$0].text
            }
        }
        return segment
    }
}
