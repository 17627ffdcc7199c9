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

    var playableToSeconds: Double {
        let buffered = Screen.playableToSeconds(
            video: video.bufferedToSeconds, hasMoreVideo: hasMoreVideo,
            audio: audio.bufferedToSeconds, hasMoreAudio: hasMoreAudio)
        return min(buffered, limitSeconds)
    }

    mutating func play(toSeconds now: Double) {
        screen.advance(
            toSeconds: now, playableToSeconds: playableToSeconds, isWhole: !hasMore)
    }

    /// Adds a segment to the buffer.
    mutating func take(isAudio: Bool, bytes: Int64, into interval: inout LoadInterval) {
        interval.counts.playback.segments += 1
        // Another pathway may have fewer.
        let segments = isAudio ? title.audio?.segments ?? [] : title.video[track].segments
        guard (isAudio ? audio : video).segment < segments.count else { return }
        screen.countIfLate(fromSeconds: (isAudio ? audio : video).bufferedToSeconds)
        if isAudio {
            audio.advance(bySeconds: title.audio?.segments[audio.segment].seconds ?? 0)
        } else {
            let seconds = title.video[track].segments[video.segment].seconds
            let stated = Double(title.video[track].bitsPerSecond)
            screen.append(
                fromSeconds: video.bufferedToSeconds,
                bitsPerSecond: stated > 0 ? stated : Double(bytes) * 8 / seconds)
            video.advance(bySeconds: seconds)
        }
        beginAgain()
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
