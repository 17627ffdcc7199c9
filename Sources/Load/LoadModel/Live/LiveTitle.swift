import Model
import Titles
import WebURL

/// A live title as a loop knows it: its tracks, and for DASH the last MPDs.
///
/// All viewers of a loop share it. Confined to its loop.
package final class LiveTitle {
    let source: LiveSource
    let video: [LiveTrack]
    let audio: LiveTrack?
    private let objects: LiveObjects
    /// Time of the test's start, in seconds since 1970.
    private let startEpochSeconds: Double
    /// The title's clock less this machine's.
    private var clockOffsetSeconds = 0.0
    /// Number of times that it has changed.
    private var clockNumber = 0
    /// The clock by which it was set; nil before.
    private var clock: LiveClock?
    private var manifests = RecentAnswers<LiveManifest>()
    /// Receives the first reason why a clock is rejected; nil after it.
    private var warn: ((String) -> Void)?

    /// - Parameter warn: receives the reason why a clock is rejected, once.
    package init(
        _ source: LiveSource, _ objects: LiveObjects, startEpochSeconds: Double,
        warn: @escaping (String) -> Void = { _ in }
    ) {
        self.warn = warn
        self.source = source
        self.objects = objects
        self.startEpochSeconds = startEpochSeconds
        let variables = source.manifest == nil ? nil : source.variables
        video = source.video.map { LiveTrack($0, objects, variables: variables) }
        audio = source.audio.map { LiveTrack($0, objects, variables: variables) }
    }

    /// Converts a time on the test's clock to seconds since 1970.
    func epoch(_ seconds: Double) -> Double {
        startEpochSeconds + clockOffsetSeconds + seconds
    }

    /// Sets the title's clock, in seconds since 1970 at `now`. Returns false if it is wrong, and not
    /// used.
    func setClock(
        _ epoch: Double, by clock: LiveClock, _ manifest: LiveManifest?, atSeconds now: Double
    ) -> Bool {
        let machine = startEpochSeconds + now
        let references = ClockReferences(
            answeredSeconds: source.answerOffsetSeconds.map { machine + $0 },
            machineSeconds: machine, publishedSeconds: manifest?.edge.publishedSeconds)
        if let rejection = references.rejection(of: epoch) {
            warn?("the clock \(name(of: clock)) \(rejection)")
            warn = nil
            return false
        }
        self.clock = clock
        let offset = epoch - machine
        if offset != clockOffsetSeconds {
            clockOffsetSeconds = offset
            clockNumber += 1
        }
        return true
    }

    /// Sets the title's clock by the time in an MPD. Returns false if it has none, or a wrong one.
    func setClock(direct index: Int, of manifest: LiveManifest) -> Bool {
        let times = manifest.edge.clocks.compactMap { clock in
            if case .direct(let epoch) = clock { epoch } else { nil }
        }
        guard times.indices.contains(index) else { return false }
        return setClock(
            times[index], by: .direct(index), manifest, atSeconds: manifest.receivedSeconds)
    }

    private func name(of clock: LiveClock) -> String {
        switch clock {
        case .direct: "in the MPD"
        case .url(let index): Redaction.shown(objects.url(index), limit: 200)
        }
    }

    // MARK: DASH

    /// Reads an MPD. Throws `manifest.…`.
    func read(manifest body: [UInt8], atSeconds now: Double) throws(Failure) -> LiveManifest {
        let hash = RecentAnswers<LiveManifest>.hash(body)
        if let known = manifests.find(hash) { return known }
        let url: WebURL
        do throws(WebURLError) {
            url = try WebURL(objects.base(source.manifest ?? 0))
        } catch {
            throw Failure(.manifestMalformed, error.detail)
        }
        let manifest = LiveManifest(
            try DASHEdge(body, url: url), objects, of: source.manifest ?? 0, atSeconds: now)
        // Each MPD has the time at which it was sent.
        if case .direct(let index) = clock ?? source.clocks.first {
            _ = setClock(direct: index, of: manifest)
        }
        try list(manifest, atSeconds: now)
        manifests.insert(hash, manifest)
        return manifest
    }

    /// Returns what an MPD lists of a track now; segments become available as time passes.
    func view(
        of track: LiveTrack, _ manifest: LiveManifest, atSeconds now: Double
    ) -> LiveView? {
        if now >= manifest.listsAgainSeconds || manifest.clockNumber != clockNumber {
            // A failure shows as a track without new segments.
            try? list(manifest, atSeconds: now)
        }
        return manifest.views[ObjectIdentifier(track)]
    }

    private func list(_ manifest: LiveManifest, atSeconds now: Double) throws(Failure) {
        let tracks = video + (audio.map { [$0] } ?? [])
        var ids: Set<String> = []
        for track in tracks { ids.insert(track.source.id) }
        let edge = manifest.edge
        let listed = try edge.tracks(atSeconds: epoch(now)) { ids.contains($0.id) }
        // Without a change by the clock, not before the next MPD.
        manifest.listsAgainSeconds = .infinity
        manifest.clockNumber = clockNumber
        for track in tracks {
            let parts = listed.filter { $0.rendition.id == track.source.id }
            guard let view = track.read(parts, of: edge) else { continue }
            manifest.views[ObjectIdentifier(track)] = view
            guard edge.growsByTime, let last = track[view.numbers.upperBound - 1] else { continue }
            let next = last.startSeconds + 2 * last.seconds + edge.availabilityStartSeconds
            manifest.listsAgainSeconds = min(
                manifest.listsAgainSeconds,
                max(
                    next - startEpochSeconds - clockOffsetSeconds, now + LiveManifest.minListSeconds
                ))
        }
        if listed.isEmpty, edge.growsByTime { manifest.listsAgainSeconds = now + 1 }
    }
}

/// An MPD that viewers have received. Confined to its loop.
final class LiveManifest {
    /// Minimum time between two listings, against rounding of times.
    static let minListSeconds = 0.01
    /// Minimum time between two requests of a viewer for it, for a minimumUpdatePeriod of 0.
    static let minUpdateSeconds = 1.0

    let edge: DASHEdge
    var views: [ObjectIdentifier: LiveView] = [:]
    /// Time on the test's clock at which another segment is available.
    var listsAgainSeconds = 0.0
    /// Number of the title's clock by which it was listed.
    var clockNumber = 0
    /// Time on the test's clock at which the first viewer received it.
    let receivedSeconds: Double
    /// The object of its Locations, from which it is requested again; nil without one.
    let reload: Int32?
    private let objects: LiveObjects

    init(_ edge: DASHEdge, _ objects: LiveObjects, of manifest: Int32, atSeconds now: Double) {
        self.edge = edge
        receivedSeconds = now
        self.objects = objects
        reload = edge.reloads.map { objects.add(reloads: $0, of: manifest) }
    }

    // Each answer may name another one, as of a session.
    deinit {
        if let reload { objects.remove(reload) }
    }

    /// Seconds after which a viewer requests it again; nil if it does not change.
    var updateSeconds: Double? {
        guard edge.isLive else { return nil }
        return edge.minimumUpdateSeconds.map { max($0, Self.minUpdateSeconds) }
    }
}

/// Reads MPDs (ISO/IEC 23009-1).
extension LiveTrack {
    /// Adds the listed segments of all periods; nil without segments.
    func read(_ periods: [DASHEdge.Track], of edge: DASHEdge) -> LiveView? {
        setEpoch(edge.availabilityStartSeconds, isExact: true)
        removeUnusedNeeds()
        var firstStart: Double?
        var longest = 0.0
        for period in periods {
            let new = period.segments.suffix(Self.maxAtFirst)
            guard let oldest = new.first else { continue }
            firstStart = firstStart ?? oldest.startSeconds
            longest = max(longest, new.lazy.map(\.seconds).max() ?? 0)
            // Halfway, because times of one segment may be rounded differently.
            guard let newest = new.last,
                newest.startSeconds > (segments.last?.startSeconds ?? -1) + newest.seconds / 2
            else { continue }
            let setup = period.setup.map {
                need($0, at: period.locations, form: period.setupForm)
            }
            for segment in new {
                let last = segments.last
                guard segment.startSeconds > (last?.startSeconds ?? -1) + segment.seconds / 2 else {
                    continue
                }
                let object = objects.add(
                    segment.url.text, segment.range, .media, countsAs: source.segments,
                    at: period.locations, form: period.segmentForm)
                put(
                    end,
                    Segment(
                        startSeconds: segment.startSeconds, seconds: segment.seconds,
                        object: object, needs: setup), fillSeconds: segment.seconds)
            }
        }
        guard let firstStart, let newest = periods.last?.segments.last else { return nil }
        let lower = segments.firstIndex { $0.startSeconds > firstStart - 0.001 } ?? 0
        let upper =
            segments.lastIndex { $0.startSeconds <= newest.startSeconds + newest.seconds / 2 } ?? 0
        var view = LiveView(
            numbers: (first + Int64(lower))..<(first + Int64(max(upper + 1, lower))))
        view.targetSeconds = max(longest, 0.001)
        view.holdBackSeconds = edge.suggestedDelaySeconds ?? 3 * view.targetSeconds
        view.hasEnded = !edge.isLive
        return view
    }
}
