/// The buffer of a viewer and the start of playback.
///
/// Playback starts when `startupSeconds` are in the buffer, or all that there is. It resumes after
/// a stall with as many (Shaka's `rebufferingGoal`, for both). A stall begins when the buffer runs
/// empty before the end of the title or of the watched time. A segment is late if it arrives after
/// the playhead has reached its start.
extension Viewer {
    /// Seconds from the playhead to the end of the playable buffer.
    var aheadSeconds: Double { playableToSeconds - screen.playheadSeconds }

    var hasMoreVideo: Bool {
        video.segment < title.video[track].segments.count && isWanted(video)
    }

    var hasMoreAudio: Bool {
        guard let track = title.audio else { return false }
        return audio.segment < track.segments.count && isWanted(audio)
    }

    var hasMore: Bool { hasMoreVideo || hasMoreAudio }

    private func isWanted(_ progress: Progress) -> Bool {
        progress.bufferedToSeconds < limitSeconds - Self.toleranceSeconds
    }

    /// End of the playable buffer. Audio and video are needed together, unless one of them has
    /// ended.
    var playableToSeconds: Double {
        let buffered =
            switch (hasMoreVideo, hasMoreAudio) {
            case (true, true): min(video.bufferedToSeconds, audio.bufferedToSeconds)
            case (true, false): video.bufferedToSeconds
            case (false, true): audio.bufferedToSeconds
            case (false, false): max(video.bufferedToSeconds, audio.bufferedToSeconds)
            }
        return min(buffered, limitSeconds)
    }

    mutating func play(toSeconds now: Double) {
        screen.advance(
            toSeconds: now, playableToSeconds: playableToSeconds, isWhole: !hasMore)
    }

    /// Adds a segment to the buffer.
    mutating func take(isAudio: Bool, bytes: Int64, into interval: inout LoadInterval) {
        interval.counts.segments += 1
        // Another pathway may have fewer.
        let segments = isAudio ? title.audio?.segments ?? [] : title.video[track].segments
        guard (isAudio ? audio : video).segment < segments.count else { return }
        let progress = isAudio ? audio : video
        let isNeeded = progress.bufferedToSeconds <= screen.playheadSeconds + Self.toleranceSeconds
        if screen.state == .stalled, isNeeded { screen.totals.lateSegments += 1 }
        if isAudio {
            audio.advance(bySeconds: title.audio?.segments[audio.segment].seconds ?? 0)
        } else {
            let seconds = title.video[track].segments[video.segment].seconds
            let told = Double(title.video[track].bitsPerSecond)
            screen.append(
                fromSeconds: video.bufferedToSeconds,
                bitsPerSecond: told > 0 ? told : Double(bytes) * 8 / seconds)
            video.advance(bySeconds: seconds)
        }
        beginAgain()
    }

    /// Starts or resumes playback if the buffer suffices.
    mutating func playAgain(atSeconds now: Double, into interval: inout LoadInterval) {
        guard [.starting, .stalled, .seeking].contains(screen.state) else { return }
        let isEnough = aheadSeconds >= settings.startupSeconds - Self.toleranceSeconds
        guard aheadSeconds > 0, isEnough || !hasMore else { return }
        screen.play(plannedSeconds: plannedSeconds, into: &interval)
    }

    /// Restarts a looping title once audio and video are complete.
    private mutating func beginAgain() {
        guard settings.loops, video.segment >= title.video[track].segments.count,
            audio.segment >= title.audio?.segments.count ?? 0
        else { return }
        passStartSeconds = max(video.bufferedToSeconds, audio.bufferedToSeconds)
        let progress = Progress(
            cursorSeconds: passStartSeconds, bufferedToSeconds: passStartSeconds)
        video = progress
        audio = progress
    }
}

extension Viewer.Progress {
    mutating func advance(bySeconds seconds: Double) {
        segment += 1
        cursorSeconds += seconds
        bufferedToSeconds = max(bufferedToSeconds, cursorSeconds)
    }
}
