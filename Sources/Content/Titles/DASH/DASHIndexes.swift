import Model
import WebURL

/// The segment indexes of a title's files, for those who want to know where in a file its segments are.
///
/// Nobody needs them to store the title: a file with an index is one object.
struct DASHIndexes: Sendable {
    /// Longest index that is read, in bytes: 65,535 parts make 0.8 MiB.
    static let maximumBytes: Int64 = 2 << 20
    /// Most that are read of one title.
    static let maximumCount = 1_000

    private struct Place: Hashable {
        let url: WebURL
        let range: SegmentRange?
    }

    private var wanted: [Place] = []
    private var found: [Place: SegmentIndex] = [:]
    private var entries = 0
    private var asked = 0
    private var awaited: Set<Int> = []

    /// Adds what a title lists.
    mutating func add(_ segment: ManifestSegment) {
        guard segment.role == .index, let length = segment.range?.length,
            length <= Self.maximumBytes, wanted.count < Self.maximumCount
        else { return }
        let place = Place(url: segment.reference.url, range: segment.range)
        if !wanted.contains(place) { wanted.append(place) }
    }

    /// True when nothing is to be asked for, and everything that was has been answered.
    var isComplete: Bool { asked == wanted.count && awaited.isEmpty }

    /// The indexes to ask for now; empty while some are awaited, and at the end.
    mutating func next() -> [ManifestRequest] {
        guard awaited.isEmpty else { return [] }
        let places = asked..<min(asked + TitleResolver.requestsAtOnce, wanted.count)
        asked = places.upperBound
        awaited = Set(places)
        return places.map { place in
            ManifestRequest(
                number: place + 1, url: wanted[place].url.text, range: wanted[place].range)
        }
    }

    /// Takes an index; nil where it could not be had. Fails with `manifest.malformed`, or `.tooMany`
    /// where all together have more parts than a title may have segments.
    mutating func receive(_ request: ManifestRequest, _ body: [UInt8]?) throws(Failure) {
        guard awaited.remove(request.number - 1) != nil, let body else { return }
        let place = wanted[request.number - 1]
        let index = try SegmentIndex.parse(
            body, at: place.range?.offset ?? 0, name: "\(place.url)")
        entries += index.entries.count
        guard entries <= DASHManifest.maximumSegments else {
            throw Failure(
                "manifest.tooMany",
                "\(place.url): the segment indexes of the title have more than "
                    + "\(DASHManifest.maximumSegments) parts")
        }
        found[place] = index
    }

    /// The parts of a file with an index, where that was read.
    ///
    /// - Parameters:
    ///   - file: all of it.
    ///   - index: what stands before it in the list.
    func parts(of file: ManifestSegment, index: ManifestSegment?) -> [ManifestSegment]? {
        guard let index, index.role == .index, file.range == nil,
            file.reference.url == index.reference.url,
            let found = found[Place(url: index.reference.url, range: index.range)]
        else { return nil }
        return found.entries.map { entry in
            ManifestSegment(
                file.reference, file.role, rendition: file.rendition, range: entry.range,
                durationSeconds: entry.durationSeconds)
        }
    }
}
