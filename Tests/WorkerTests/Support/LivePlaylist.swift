import Synchronization
import TestSupport

/// A live HLS media playlist that changes with each request, not with time.
struct LivePlaylist: Sendable {
    /// Media sequence number of the first segment, and number of segments in all.
    var first = 100
    var count = 8
    /// Segments that are listed at once.
    var window = 3
    /// Number of segments that have been published at the request of a number, from 1.
    var published: @Sendable (Int) -> Int = { $0 + 2 }
    /// Tags after `#EXTM3U`.
    var header = "#EXT-X-VERSION:3\n"
    /// Tags before the first listed segment, by its number.
    var beginning: @Sendable (Int) -> String = { _ in "" }
    /// Tags and URI of a segment, by its number.
    var lines: @Sendable (Int) -> String = { "#EXTINF:1.0,\ns\($0).ts\n" }
    /// False if it never ends.
    var ends = true

    func text(_ request: Int) -> String {
        let shown = min(published(request), count)
        let start = max(shown - window, 0)
        var text = "#EXTM3U\n\(header)#EXT-X-TARGETDURATION:1\n"
        text += "#EXT-X-MEDIA-SEQUENCE:\(first + start)\n" + beginning(first + start)
        text += (start..<shown).map { lines(first + $0) }.joined()
        return text + (ends && shown == count ? "#EXT-X-ENDLIST\n" : "")
    }

    /// Serves it, with a file for each segment that has its name.
    func serve(_ path: String, at origin: FaultOrigin, segments: Bool = true) {
        origin.route(path) { request in .init(text: text(request.number)) }
        guard segments else { return }
        let folder = path.split(separator: "/").dropLast().joined(separator: "/")
        for number in first..<(first + count) {
            origin.route("/\(folder)/s\(number).ts", .init(text: "segment \(number)"))
        }
    }
}

/// A number of published segments that a test sets.
final class PublishedCount: Sendable {
    private let count: Mutex<Int>

    init(_ count: Int) { self.count = Mutex(count) }

    var value: Int {
        get { count.withLock { $0 } }
        set { count.withLock { $0 = newValue } }
    }
}
