import Model
import Testing

@testable import LoadModel

/// A live viewer on a virtual clock, with an origin that answers by it.
struct LiveRun {
    /// An answer: its size, its body for a manifest, and the seconds that it takes; nil seconds for
    /// a failure.
    struct Answer {
        var bytes: Int64 = 1_000
        var body = ""
        var seconds: Double? = 0.01
    }

    /// Requested URLs with the time of the request and of the answer.
    var fetches: [(url: String, atSeconds: Double, endSeconds: Double)] = []
    var interval = LoadInterval(second: 0)
    var endedAtSeconds: Double?

    /// Plays from `startSeconds` to `endSeconds`.
    ///
    /// - Parameter answer: of a URL to a request at a time, both clocks being seconds since 1970.
    init(
        _ plan: LoadPlan, _ settings: ViewerSettings = ViewerSettings(), from startSeconds: Double,
        to endSeconds: Double, sharing title: LiveTitle? = nil, objects given: LiveObjects? = nil,
        answer: (_ url: String, _ now: Double) -> Answer
    ) throws {
        let objects = given ?? LiveObjects(plan) { _ in 0 }
        let source = try #require(plan.targets[0].live)
        let title = title ?? LiveTitle(source, objects, startEpochSeconds: 0)
        var viewer = LiveViewer(title: title, settings: settings, plannedSeconds: startSeconds)
        var now = startSeconds
        /// Of each lane: the time of its next event, and the answer that arrives then.
        var due = [Double](repeating: .infinity, count: viewer.lanes)
        var answers = [(Answer, Double)?](repeating: nil, count: viewer.lanes)
        var next: [ViewerLane] = [.video]
        var steps = 0
        var counted = startSeconds.rounded(.down)
        while steps < 200_000 {
            steps += 1
            for lane in next where answers[lane.rawValue] == nil {
                switch viewer.next(lane, atSeconds: now) {
                case .end:
                    endedAtSeconds = now
                    viewer.finish(atSeconds: now, isCutOff: false, into: &interval)
                    return
                case .wait(let until): due[lane.rawValue] = until
                case .fetch(let object):
                    let url = objects[object]?.object.url ?? plan.objects[object].url
                    let given = answer(url, now)
                    due[lane.rawValue] = now + (given.seconds ?? 0)
                    answers[lane.rawValue] = (given, now)
                    fetches.append((url, now, due[lane.rawValue]))
                }
            }
            let lane = due.indices.min { due[$0] < due[$1] } ?? 0
            guard due[lane] < endSeconds else {
                viewer.finish(atSeconds: endSeconds, isCutOff: true, into: &interval)
                return
            }
            now = max(due[lane], now)
            while counted + 1 <= now {
                counted += 1
                viewer.account(toSeconds: counted, into: &interval)
            }
            due[lane] = .infinity
            let index = try #require(ViewerLane(rawValue: lane))
            next =
                [index]
                + ViewerLane.allCases.filter {
                    $0 != index && $0.rawValue < viewer.lanes
                }
            guard let (given, sent) = answers[lane] else { continue }
            answers[lane] = nil
            guard let took = given.seconds else {
                switch viewer.failed(index, atSeconds: now) {
                case .wait(let until):
                    due[lane] = until
                    next.removeFirst()
                // It is what the viewer is asked for again.
                case .fetch: break
                case .end:
                    endedAtSeconds = now
                    viewer.finish(atSeconds: now, isCutOff: false, into: &interval)
                    return
                }
                continue
            }
            #expect(took == now - sent || abs(took - (now - sent)) < 1e-9)
            try viewer.received(
                index, bytes: given.bytes, body: Array(given.body.utf8), tookSeconds: took,
                atSeconds: now, into: &interval)
        }
        Issue.record("it does not end")
    }

    var counts: LoadCounts { interval.counts }

    /// The requests whose URL has a text in it.
    func fetches(of text: String) -> [(url: String, atSeconds: Double, endSeconds: Double)] {
        fetches.filter { $0.url.contains(text) }
    }
}

/// A plan with one live title; objects: manifest, and for each rate a playlist and its segments.
func livePlan(_ form: LiveSource.Form, rates: [Int64] = [1_000_000], audio: Bool = false)
    -> LoadPlan
{
    var plan = LoadPlan()
    func add(_ path: String) -> Int32 {
        plan.objects.append(
            LoadPlan.Object(url: "http://live.example/\(path)", role: .playlist, target: 0))
        return Int32(plan.objects.count - 1)
    }
    let manifest = add(form == .hls ? "master.m3u8" : "live.mpd")
    func track(_ name: String, _ rate: Int64) -> LiveSource.Track {
        LiveSource.Track(
            name: name, bitsPerSecond: rate, id: name,
            playlist: form == .hls ? add("\(name).m3u8") : manifest,
            segments: add("\(name)-segments"))
    }
    var source = LiveSource(
        form: form, manifest: manifest,
        video: rates.enumerated().map { track("v\($0)", $1) })
    if audio { source.audio = track("a", 64_000) }
    plan.targets = [LoadPlan.Target(name: "live", weight: 1, objects: 0..<plan.objects.count)]
    plan.targets[0].live = source
    return plan
}
