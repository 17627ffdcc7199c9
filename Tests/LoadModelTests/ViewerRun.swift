import Testing

@testable import LoadModel

/// A clock and a link that carries `bytesPerSecond` for each viewer step, so that the right answer is known.
struct ViewerRun {
    var viewer: Viewer
    var interval = LoadInterval(second: 0)
    var now: Double
    /// Every requested object, with its time.
    var fetches: [(object: Int, atSeconds: Double)] = []
    var endedAtSeconds: Double?
    /// True if its figures are read repeatedly.
    var accounts = false

    init(_ title: MediaTitle, _ settings: ViewerSettings, plannedSeconds: Double = 0) {
        viewer = Viewer(title: title, settings: settings, plannedSeconds: plannedSeconds)
        now = plannedSeconds
    }

    /// Result of a request: bytes and seconds; nil seconds for a failure after 0 s.
    struct Answer {
        var bytes: Int64
        var seconds: Double?
    }

    /// Drives it until it ends, or to the end of the test.
    mutating func run(
        untilSeconds end: Double = .infinity, _ answer: (_ object: Int, _ now: Double) -> Answer
    ) {
        var action = viewer.next(atSeconds: now)
        var steps = 0
        while steps < 1_000_000 {
            steps += 1
            if accounts { viewer.account(toSeconds: now, into: &interval) }
            switch action {
            case .end:
                endedAtSeconds = now
                viewer.finish(atSeconds: now, isCutOff: false, into: &interval)
                return
            case .wait(let until):
                guard until < end else { return cutOff(end) }
                now = until
                action = viewer.next(atSeconds: now)
            case .fetch(let object):
                fetches.append((object, now))
                let answer = answer(object, now)
                guard let took = answer.seconds else {
                    action = viewer.failed(atSeconds: now)
                    continue
                }
                guard now + took < end else { return cutOff(end) }
                now += took
                viewer.received(
                    bytes: answer.bytes, tookSeconds: took, atSeconds: now, into: &interval)
                action = viewer.next(atSeconds: now)
            }
        }
        Issue.record("it does not end")
    }

    private mutating func cutOff(_ end: Double) {
        now = end
        viewer.finish(atSeconds: end, isCutOff: true, into: &interval)
    }

    var objects: [Int] { fetches.map(\.object) }
    var counts: LoadCounts { interval.counts }
}

/// A title of `count` segments; objects of rendition k are 100 (k + 1) for its playlist, and what follows.
func mediaTitle(
    segments count: Int, seconds: Double = 2, rates: [Int64] = [1_000_000], audio: Bool = false
) -> MediaTitle {
    func track(_ name: String, _ rate: Int64, first: Int32) -> MediaTitle.Track {
        MediaTitle.Track(
            name: name, bitsPerSecond: rate, setup: [first],
            segments: (0..<count).map {
                MediaTitle.Segment(object: first + 1 + Int32($0), seconds: seconds)
            })
    }
    return MediaTitle(
        manifest: 0,
        video: rates.enumerated().map { track("v\($0)", $1, first: Int32(100 * ($0 + 1))) },
        audio: audio ? track("a", 64_000, first: 900) : nil)
}

func settings(_ change: (inout ViewerSettings) -> Void) -> ViewerSettings {
    var settings = ViewerSettings()
    change(&settings)
    return settings
}
