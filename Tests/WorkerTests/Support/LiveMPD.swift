import TestSupport

/// A live MPD that changes with each request, not with time: segments of a second in a window.
struct LiveMPD: Sendable {
    /// Number of the first segment, and number of segments in all.
    var first = 100
    var count = 8
    /// Segments that are listed at once.
    var window = 3
    /// Number of segments that have been published at the request of a number, from 1.
    var published: @Sendable (Int) -> Int = { $0 + 2 }
    var representations = ["v"]
    /// True if files have numbers in their names, otherwise times.
    var isNumbered = false
    /// Elements before the period.
    var header = ""
    /// Attributes of the MPD.
    var attributes = ""

    /// Files are named as the representation, the number and `.m4s`, or the time in its place; the
    /// initialization section as the representation and `.mp4`.
    func text(_ request: Int) -> String {
        let shown = min(published(request), count)
        let start = max(shown - window, 0)
        let type = shown == count ? "static" : "dynamic"
        return Self.text(
            header + period("p", "PT0S", (first + start)..<(first + shown)), type: type, attributes)
    }

    /// Returns a period with segments of these numbers.
    func period(_ id: String, _ start: String, _ numbers: Range<Int>, offset: Int = 0) -> String {
        let name = isNumbered ? "$Number$" : "$Time$"
        let sets = representations.map { id in
            """
            <AdaptationSet contentType="\(id == "a" ? "audio" : "video")">
            <SegmentTemplate timescale="10" media="$RepresentationID$-\(name).m4s" \
            initialization="$RepresentationID$.mp4" startNumber="\(isNumbered ? numbers.lowerBound : 1)">
            <SegmentTimeline><S t="\((numbers.lowerBound - offset) * 10)" d="10" \
            r="\(numbers.count - 1)"/></SegmentTimeline></SegmentTemplate>
            <Representation id="\(id)" bandwidth="1000"/></AdaptationSet>

            """
        }
        return "<Period id=\"\(id)\" start=\"\(start)\">\n\(sets.joined())</Period>"
    }

    static func text(_ inner: String, type: String, _ attributes: String = "") -> String {
        """
        <?xml version="1.0"?>
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="\(type)" minimumUpdatePeriod="PT1S" \
        availabilityStartTime="2020-01-01T00:00:00Z" \(attributes)>\(inner)</MPD>
        """
    }

    /// Serves it, with its files.
    func serve(_ path: String, at origin: FaultOrigin) {
        origin.route(path) { request in .init(text: text(request.number)) }
        let folder = path.split(separator: "/").dropLast().joined(separator: "/")
        for id in representations {
            origin.route("/\(folder)/\(id).mp4", .init(text: "init \(id)"))
            for number in first..<(first + count) {
                origin.route(
                    "/\(folder)/\(id)-\(isNumbered ? number : number * 10).m4s",
                    .init(text: "\(id) \(number)"))
            }
        }
    }
}
