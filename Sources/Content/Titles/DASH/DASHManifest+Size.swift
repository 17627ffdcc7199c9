import Model
import WebURL

/// Checks the size of a title before it is listed.
extension DASHManifest {
    /// Rejects a title whose templates make too many objects or too long URLs. It calculates in
    /// time and memory proportional to the manifest.
    ///
    /// Representations with the same first segment and length count once, as in repeated
    /// advertisements. A URL counts with the length of the first in its run; longer numbers are
    /// checked when segments are listed.
    ///
    /// - Parameter wanted: for each representation, true if it is selected.
    ///
    /// Throws `manifest.tooMany`, and as `forEachSegment` does.
    func checkSize(wanted: [Bool]) throws(Failure) {
        var known: Set<Int> = []
        var (objects, bytes) = (0, 0)
        try forEachLister { (track, lister) throws(Failure) in
            guard wanted[track.index], track.representation.addressing.kind == .template,
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
                    .manifestTooMany,
                    "the title has more than \(WireLimits.segmentsPerAsset) objects: its segment "
                        + "templates make \(objects)")
            }
            guard bytes <= WireLimits.urlBytesPerAsset else {
                throw failure(
                    .manifestTooMany,
                    "the URLs that its segment templates make total \(bytes) bytes; "
                        + "at most \(WireLimits.urlBytesPerAsset) are allowed per title")
            }
        }
    }

    /// Returns the number of a template's media and index segments, and the first one; nil for a
    /// template of one segment or none.
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
            // Both are bounded since the manifest's segments were counted.
            count += Int(run.count) * (media.hasSubNumber ? Int(run.sequence) : 1)
            return true
        }
        guard let start, let first = try lister.first(of: start, media) else { return nil }
        if templates.index?.tellsSegments ?? false { count *= 2 }
        return (count, first)
    }
}
