package import Model

/// Every object of a title, once, in the order of fetching, in little room: there may be a million.
///
/// 24 bytes an object and what its URL has of its own; elements are made when they are asked for.
package struct ResolvedSegments: RandomAccessCollection, Sendable {
    /// What is known of manifests.
    struct Known: Sendable {
        var bytes: Int64?
        var sha256: String?
        var content: String?
    }

    private struct Row {
        /// Place of its URL, which those that `isNamed` and `mirrors` speak of follow.
        var url: UInt32
        var role: SegmentRole
        var isNamed: Bool
        var mirrors: UInt8
    }

    private var rows: [Row] = []
    private var urls = URLTable()
    private var known: [Int: Known] = [:]

    package var startIndex: Int { 0 }
    package var endIndex: Int { rows.count }

    /// Of all URLs, mirrors included.
    var urlBytes: Int { urls.totalBytes }

    mutating func append(_ reference: ManifestReference, _ role: SegmentRole, mirrors: [WebURL]) {
        let count = UInt8(clamping: mirrors.count)
        rows.append(
            Row(
                url: UInt32(clamping: urls.count), role: role, isNamed: reference.named != nil,
                mirrors: count))
        urls.append(reference.url)
        if let named = reference.named { urls.append(named) }
        for mirror in mirrors.prefix(Int(count)) { urls.append(mirror) }
    }

    mutating func set(_ what: Known, at place: Int) { known[place] = what }

    mutating func set(_ role: SegmentRole, at place: Int) { rows[place].role = role }

    func role(at place: Int) -> SegmentRole { rows[place].role }

    func url(at place: Int) -> WebURL { urls[Int(rows[place].url)] }

    /// What its key is made from.
    func keyURL(at place: Int) -> WebURL {
        let row = rows[place]
        return urls[Int(row.url) + (row.isNamed ? 1 : 0)]
    }

    /// The key of what was checked to have one when it was added.
    func key(at place: Int) -> String {
        guard let key = try? SiteKey(keyURL(at: place)) else {
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
            segment.mirrors = (first..<(first + Int(row.mirrors))).map { urls[$0].text }
        }
        return segment
    }
}
