import Model
import WebURL

/// The segment indexes of a title's files, for callers that need the segments' locations in files.
///
/// Storing the title does not need them: a file with an index is one object.
struct DASHIndexes: Sendable {
    /// Maximum length of an index in bytes: 65,535 parts make 0.8 MiB.
    static let maximumBytes: Int64 = 2 << 20
    /// Maximum number of indexes of one title.
    static let maximumCount = 1_000

    private struct Location: Hashable {
        let url: WebURL
        let range: SegmentRange?
    }

    private var wanted: [Location] = []
    private var found: [Location: SegmentIndex] = [:]
    private var entries = 0
    private var asked = 0
    private var awaited: Set<Int> = []

    /// Adds a listed segment.
    mutating func add(_ segment: ManifestSegment) {
        guard segment.role == .index, let length = segment.range?.length,
            length <= Self.maximumBytes, wanted.count < Self.maximumCount
        else { return }
        let location = Location(url: segment.reference.url, range: segment.range)
        if !wanted.contains(location) { wanted.append(location) }
    }

    /// True if all indexes were requested and answered.
    var isComplete: Bool { asked == wanted.count && awaited.isEmpty }

    /// Returns the next indexes to request; empty while some are pending, and at the end.
    mutating func next() -> [ManifestRequest] {
        guard awaited.isEmpty else { return [] }
        let range = asked..<min(asked + TitleResolver.requestsAtOnce, wanted.count)
        asked = range.upperBound
        awaited = Set(range)
        return range.map { index in
            ManifestRequest(
                number: index + 1, url: wanted[index].url.text, range: wanted[index].range)
        }
    }

    /// Adds an index; nil if it cannot be fetched. Throws `manifest.malformed`, or `.tooMany` if
    /// all together have more parts than a title may have segments.
    mutating func receive(_ request: ManifestRequest, _ body: [UInt8]?) throws(Failure) {
        guard awaited.remove(request.number - 1) != nil, let body else { return }
        let position = wanted[request.number - 1]
        let index = try SegmentIndex.parse(
            body, at: position.range?.offset ?? 0, name: "\(position.url)")
        entries += index.entries.count
        guard entries <= DASHManifest.maxListedEntries else {
            throw Failure(
                .manifestTooMany,
                "\(position.url): the segment indexes of the title have more than "
                    + "\(DASHManifest.maxListedEntries) parts")
        }
        found[position] = index
    }

    /// Returns the parts of a file, if its index was read.
    ///
    /// - Parameters:
    ///   - file: the whole file.
    ///   - index: the segment before it in the list.
    func parts(of file: ManifestSegment, index: ManifestSegment?) -> [ManifestSegment]? {
        guard let index, index.role == .index, file.range == nil,
            file.reference.url == index.reference.url,
            let found = found[Location(url: index.reference.url, range: index.range)]
        else { return nil }
        return found.entries.map { entry in
            ManifestSegment(
                file.reference, file.role, rendition: file.rendition, range: entry.range,
                durationSeconds: entry.durationSeconds)
        }
    }
}
