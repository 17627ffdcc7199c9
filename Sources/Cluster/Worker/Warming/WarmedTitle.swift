import API
import Model

/// The segments of a title as they are requested at a POP of a cache: playlists too, as the origin
/// serves them.
struct WarmedTitle {
    private let cache: CacheLocation
    private let pop: String

    /// Creates it for a job; nil at a site with storage.
    init?(of work: Leased<AssetSource>) {
        guard let cache = work.work.site.cache, let origin = originName(of: work.task.url),
            let start = origin.firstRange(of: "://")
        else { return nil }
        self.cache = cache
        pop = String(origin[start.upperBound...])
    }

    /// Returns the segment as it is requested. Throws `manifest.otherHost` for one that viewers
    /// request elsewhere.
    func requested(_ segment: ResolvedSegment) throws(Failure) -> ResolvedSegment {
        guard let url = cache.served(segment.url, at: pop) else {
            throw Failure(
                .manifestOtherHost,
                "\(redacted(url: segment.url)): viewers of \(cache.edge) do not request this there")
        }
        var segment = segment
        segment.url = url
        // Made of the URL, whose host may be the edge's.
        let path = segment.key.drop { $0 != "/" }.dropFirst()
        segment.key = path.isEmpty ? pop : "\(pop)/\(path)"
        segment.mirrors = nil
        if segment.content != nil {
            (segment.content, segment.bytes, segment.sha256) = (nil, nil, nil)
        }
        return segment
    }
}
