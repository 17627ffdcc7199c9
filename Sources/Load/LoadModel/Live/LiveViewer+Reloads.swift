import Model
import Titles

/// Decides when manifests are requested again.
///
/// A media playlist: one target duration after the last request if that brought something new, else
/// half of it; with parts, part target durations (RFC 8216bis, 6.3.4). With blocking reloads, at
/// once when all that is listed has been fetched. An MPD: every `minimumUpdatePeriod`, at least a
/// second apart.
extension LiveViewer {
    /// A playlist must list something new within this many target durations (6.2.2).
    private static let staleTargets = 1.5

    /// Returns the request of a manifest that is due.
    func dueReload(_ lane: ViewerLane, _ now: Double) -> LiveProgress.Request? {
        let progress = self[lane]
        switch title.source.form {
        case .dash:
            return lane == .video && now >= progress.reloadSeconds ? .manifest : nil
        case .hls:
            guard let view = progress.view else {
                return .playlist(object: progress.track.source.playlist, blocks: false)
            }
            guard !view.hasEnded, now >= progress.reloadSeconds else { return nil }
            // It comes when all that is listed has been fetched.
            if view.canBlock { return nil }
            return .playlist(object: progress.track.source.playlist, blocks: false)
        }
    }

    /// Returns the request that the origin answers once it has the lane's next segment or part; nil
    /// if it does not offer that.
    func blockingReload(_ lane: ViewerLane) -> LiveProgress.Request? {
        let progress = self[lane]
        guard let view = progress.view, view.canBlock, !view.hasEnded else { return nil }
        let next = LiveCursor(number: view.numbers.upperBound, part: view.nextParts)
        return .playlist(
            object: progress.track.reload(
                until: next, skips: view.canSkip, hasParts: view.partTargetSeconds > 0),
            blocks: true)
    }

    mutating func takeManifest(
        _ body: [UInt8], _ tookSeconds: Double, _ now: Double, into interval: inout LoadInterval
    ) throws(Failure) {
        guard title.source.form == .dash else {
            reading.hasManifest = true
            return
        }
        if reading.manifest != nil { interval.counts.live.playlistReloads += 1 }
        interval.record(Self.microseconds(tookSeconds), .playlistReload)
        let before = video.view
        let received = try title.read(manifest: body, atSeconds: now)
        reading.manifest = received
        reading.hasManifest = true
        video.view = title.view(of: video.track, received, atSeconds: now)
        video.reloadSeconds = received.updateSeconds.map { now - tookSeconds + $0 } ?? .infinity
        // Segments whose times are calculated need nothing new.
        let isNew = received.edge.growsByTime || isNew(video.view, before)
        note(isNew: isNew, isFirst: before == nil, .video, now, &interval)
    }

    mutating func takePlaylist(
        _ lane: ViewerLane, _ body: [UInt8], _ blocks: Bool, _ tookSeconds: Double, _ now: Double,
        into interval: inout LoadInterval
    ) throws(Failure) {
        let before = self[lane].view
        if before != nil { interval.counts.live.playlistReloads += 1 }
        interval.record(Self.microseconds(tookSeconds), .playlistReload)
        let view = try self[lane].track.read(playlist: body, epochSeconds: title.epoch(now))
        let isNew = isNew(view, before)
        // An older one of another cache node does not take anything back.
        if isNew || before.map({ !$0.isAhead(of: view) }) ?? true { self[lane].view = view }
        var period = view.partTargetSeconds > 0 ? view.partTargetSeconds : view.targetSeconds
        if !isNew { period /= 2 }
        self[lane].reloadSeconds = now - tookSeconds + period
        // An origin that answers a blocking reload without anything new is not asked in a circle.
        if blocks, !isNew { self[lane].resumesSeconds = now + period }
        note(isNew: isNew, isFirst: before == nil, lane, now, &interval)
    }

    private func isNew(_ view: LiveView?, _ before: LiveView?) -> Bool {
        guard let view else { return false }
        return before.map { view.isAhead(of: $0) } ?? true
    }

    /// Counts a manifest that should list something new and does not.
    private mutating func note(
        isNew: Bool, isFirst: Bool, _ lane: ViewerLane, _ now: Double,
        _ interval: inout LoadInterval
    ) {
        if isNew || isFirst {
            self[lane].changedSeconds = now
        } else if let view = self[lane].view, !view.hasEnded,
            now - self[lane].changedSeconds > Self.staleTargets * view.targetSeconds
        {
            interval.counts.live.stalePlaylists += 1
        }
    }
}

extension LiveProgress {
    /// Continues with another rendition at the same position: numbers of segments are the same in
    /// all renditions of HLS; those of DASH follow their times.
    mutating func change(to other: LiveTrack, isDASH: Bool) {
        if isDASH, let cursor {
            let start = track.startSeconds(cursor) ?? track.endSeconds
            self.cursor = LiveCursor(number: other.number(startingAt: start))
        }
        track = other
        view = nil
        needs = []
        reloadSeconds = isDASH ? reloadSeconds : 0
    }
}

extension LiveTrack {
    /// Returns the number of the segment that starts at a time, or after it.
    func number(startingAt seconds: Double) -> Int64 {
        let index = segments.firstIndex { $0.startSeconds + $0.seconds / 2 > seconds }
        return first + Int64(index ?? segments.count)
    }
}
