import Model
import WebURL

/// What a title comes to before any of it is listed.
extension DASHManifest {
    /// Refuses a title whose templates make more objects, or longer URLs, than are taken; by arithmetic,
    /// in time and memory of the manifest's own length.
    ///
    /// Of representations that begin with the same segment and are as long, as repeated advertisements
    /// are, one counts. A URL counts as long as the first of its run: those with more digits are found
    /// out when they are listed.
    ///
    /// - Parameter wanted: whether each representation is.
    ///
    /// Fails with `manifest.tooMany`, and as `forEachSegment` does.
    func checkSize(wanted: [Bool]) throws(Failure) {
        var known: Set<Int> = []
        var (objects, bytes) = (0, 0)
        try forEachLister { (track, lister) throws(Failure) in
            guard wanted[track.place], track.representation.addressing.kind == .template,
                let (count, first) = try size(of: track, &lister)
            else { return }
            var hasher = Hasher()
            hasher.combine(first.reference.url)
            hasher.combine(count)
            guard known.insert(hasher.finalize()).inserted else { return }
            let urls = [first.reference.url] + first.mirrors
            objects += count
            bytes += count * urls.reduce(0) { $0 + $1.text.utf8.count }
            guard objects <= WireLimits.segmentsPerAsset else {
                throw failure(
                    "manifest.tooMany",
                    "the title has more than \(WireLimits.segmentsPerAsset) objects: its segment "
                        + "templates make \(objects)")
            }
            guard bytes <= WireLimits.urlBytesPerAsset else {
                throw failure(
                    "manifest.tooMany",
                    "the URLs that its segment templates make come to \(bytes) bytes; "
                        + "\(WireLimits.urlBytesPerAsset) are taken of a title")
            }
        }
    }

    /// How many media and index segments a template makes, and the first of them; nil for one that makes a
    /// single one, or none.
    private func size(
        of track: Track, _ lister: inout Lister
    ) throws(Failure) -> (count: Int, first: ManifestSegment)? {
        let templates = try Templates(
            track.representation, isStrict: findings.isStrict, names: lister.names(ofTemplate:),
            lister.failure)
        guard let media = templates.media, media.tellsSegments else { return nil }
        var count = 0
        var start: DASHTimeline.Run?
        try timeline(of: track).forEachRun { run in
            start = start ?? run
            // Both were bounded when the manifest's segments were counted.
            count += Int(run.count) * (media.hasSubNumber ? Int(run.sequence) : 1)
            return true
        }
        guard let start, let first = try lister.first(of: start, media) else { return nil }
        if templates.index?.tellsSegments ?? false { count *= 2 }
        return (count, first)
    }
}
