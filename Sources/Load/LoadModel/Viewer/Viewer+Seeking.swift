import Statistics

/// Seeks: after an exponentially distributed time played, to a position anywhere in the title.
///
/// The buffer is dropped, and playback resumes as after a stall; the wait is not a stall.
extension Viewer {
    /// Time on the test's clock of the next seek, if playback continues until then; infinite
    /// without seeks.
    func seekSeconds(_ now: Double) -> Double {
        screen.state == .playing ? now + nextSeekSeconds - screen.playheadSeconds : .infinity
    }

    /// Seeks if it is time.
    mutating func seekIfDue() {
        guard screen.state == .playing,
            screen.playheadSeconds >= nextSeekSeconds - Self.toleranceSeconds
        else { return }
        let length = title.video[track].segments.reduce(0) { $0 + $1.seconds }
        let position = traits.random.uniform() * length
        nextSeekSeconds = screen.playheadSeconds + traits.nextSeekSeconds()
        let start = video.seek(
            to: position, in: title.video[track].segments, atSeconds: screen.playheadSeconds)
        passStartSeconds = screen.playheadSeconds - start
        if let sound = title.audio {
            audio.seek(to: position, in: sound.segments, atSeconds: screen.playheadSeconds)
        }
        screen.seek()
    }
}

extension Viewer.Progress {
    /// Continues with the segment that has a position, with an empty buffer; returns its start.
    @discardableResult mutating func seek(
        to position: Double, in segments: [MediaTitle.Segment], atSeconds playhead: Double
    ) -> Double {
        var start = 0.0
        segment = 0
        while segment < segments.count - 1, start + segments[segment].seconds <= position {
            start += segments[segment].seconds
            segment += 1
        }
        cursorSeconds = playhead
        bufferedToSeconds = playhead
        readyPart = nil
        return start
    }
}
