package import API
import Model
import Rendering
import Text

/// Figures of recordings, for people.
package enum RecordingText {
    /// Returns `recording: 120 segments, 3 gaps, 4 s behind live`, or, after the end,
    /// `recorded until its end: …`; with the names of what is not recorded.
    package static func line(_ recording: AssetRecording) -> String {
        let names = recording.unrecorded ?? []
        return progress(recording)
            + (names.isEmpty ? "" : "; not recorded: \(printable(names.joined(separator: ", ")))")
    }

    private static func progress(_ recording: AssetRecording) -> String {
        let figures = figures(recording.segments, recording.gaps)
        guard let end = recording.end else {
            return "recording: \(figures), \(behind(recording.behindSeconds))"
        }
        let reason =
            switch end {
            case .ended: "its end"
            case .until: "the time of --until"
            case .unchanged: "it brought nothing new"
            case .gone: "it was gone"
            case .full: "the maximum length"
            }
        return "recorded until \(reason): \(figures)"
    }

    /// The same for a catalog.
    package static func line(_ recording: CatalogRecording) -> String {
        var figures = figures(recording.segments, recording.gaps)
        if recording.unrecorded > 0 {
            figures += ", " + HumanFormat.count(recording.unrecorded, "rendition") + " not recorded"
        }
        guard recording.recording > 0 else {
            return "recorded \(HumanFormat.count(recording.titles, "title")): \(figures)"
        }
        return "recording \(HumanFormat.count(recording.recording, "title")): \(figures), "
            + behind(recording.behindSeconds)
    }

    private static func figures(_ segments: Int, _ gaps: Int) -> String {
        HumanFormat.count(segments, "segment") + ", " + HumanFormat.count(gaps, "gap")
    }

    private static func behind(_ seconds: Double) -> String {
        "\(HumanFormat.duration(seconds: seconds)) behind live"
    }
}
