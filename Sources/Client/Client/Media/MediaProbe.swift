import Glibc
import Model
import Services
import Text
import Titles

/// Runs ffprobe on files at an edge.
///
/// It gets one file and may open files beside it; it contacts no network. Its time, the part of a
/// title that it reads and its output are bounded.
struct MediaProbe: Sendable {
    enum Verdict: Hashable, Sendable {
        case playable
        /// The reason, as a sentence.
        case unplayable(String)
        /// Not checked, with the reason.
        case unchecked(String)
    }

    /// Maximum seconds of one run of ffprobe.
    static let patienceSeconds = 60.0
    /// Seconds of a title that are read, from its start.
    static let readSeconds = 10

    private static let program = "ffprobe"
    private static let maxOutput = 1 << 20
    private static let maxReason = 200

    /// Demuxer options that allow any file name; versions of ffprobe differ in those they support.
    private let options: [AssetKind: [String]]

    /// Finds ffprobe; returns nil if it is not installed.
    static func find() async -> MediaProbe? {
        var options: [AssetKind: [String]] = [:]
        for (kind, demuxer) in [(AssetKind.hls, "hls"), (.dash, "dash")] {
            let help = try? await Subprocess.capture(
                [program, "-v", "quiet", "-h", "demuxer=\(demuxer)"], bytes: maxOutput,
                seconds: patienceSeconds)
            guard let help, help.status == 0 else { return nil }
            options[kind] =
                ["-f", demuxer]
                + [
                    ("allowed_extensions", "ALL"), ("allowed_segment_extensions", "ALL"),
                    ("extension_picky", "0"),
                ].filter { help.output.contains("-\($0.0) ") }.flatMap { ["-\($0.0)", $0.1] }
        }
        return MediaProbe(options: options)
    }

    /// Returns true if an asset is media by its kind or name.
    static func isMedia(_ kind: AssetKind, path: String) -> Bool {
        guard kind == .file else { return true }
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? [][...]
        // The query starts at ?.
        let plain = name.prefix { $0 != UInt8(ascii: "?") }
        guard let dot = plain.lastIndex(of: UInt8(ascii: ".")) else { return false }
        let ending = String(decoding: plain[plain.index(after: dot)...], as: UTF8.self)
        return mediaEndings.contains(ending.lowercased())
    }

    private static let mediaEndings: Set<String> = [
        "3gp", "aac", "ac3", "avi", "ec3", "flac", "flv", "m4a", "m4v", "mka", "mkv", "mov", "mp3",
        "mp4", "mpeg", "mpg", "mts", "mxf", "oga", "ogg", "ogv", "opus", "ts", "wav", "webm", "wmv",
    ]

    /// Checks one file: the entry of a title or a single file.
    func verdict(on file: String, kind: AssetKind) async -> Verdict {
        guard let start = Self.start(of: file) else {
            return .unchecked("it cannot be read here: \(systemErrorText(errno))")
        }
        // By the manifest's content, regardless of the list's kind.
        let form =
            kind == .file ? kind : ManifestForm.kind(of: start, contentType: nil, otherwise: kind)
        let arguments =
            [Self.program, "-v", "error", "-protocol_whitelist", "file,crypto,data"]
            + (options[form] ?? [])
            + [
                "-read_intervals", "%+\(Self.readSeconds)", "-show_entries",
                "stream=index,codec_type:packet=stream_index", "-of", "csv", "-i", "file:\(file)",
            ]
        do {
            return Self.verdict(
                try await Subprocess.capture(
                    arguments, bytes: Self.maxOutput, seconds: Self.patienceSeconds))
        } catch {
            return .unchecked("\(error)")
        }
    }

    /// Returns the first bytes of a regular file; nil, with errno, if it cannot be read.
    private static func start(of file: String) -> [UInt8]? {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        return Array(bytes.prefix(count))
    }

    /// Evaluates ffprobe's output: its error, or else each video or audio stream without packets.
    static func verdict(_ captured: Subprocess.Captured) -> Verdict {
        if captured.isOutOfTime {
            return .unchecked("ffprobe did not finish within \(Int(patienceSeconds)) s")
        }
        var kinds: [Int: Substring] = [:]
        var played: Set<Int> = []
        var complaint: Substring?
        for line in captured.output.split(whereSeparator: \.isNewline) {
            let fields = line.split(separator: ",", omittingEmptySubsequences: false)
            let stream = fields.count > 1 ? Int(fields[1]) : nil
            switch fields.first {
            case "stream": if let stream, fields.count > 2 { kinds[stream] = fields[2] }
            case "packet": if let stream { played.insert(stream) }
            case "program": continue
            default: complaint = complaint ?? line
            }
        }
        guard captured.status == 0 else {
            let reason = printable(String((complaint ?? "ffprobe failed").prefix(maxReason)))
            if reason.firstRange(of: #/%[0-9A-Fa-f]{2}/#) != nil {
                return .unchecked(
                    "a manifest names a file percent-encoded, which ffprobe does not find on a "
                        + "disk: \(reason)")
            }
            return .unplayable(reason)
        }
        let media = kinds.filter { ["audio", "video"].contains($0.value) }
        guard !media.isEmpty else { return .unplayable("it has neither video nor audio") }
        guard let empty = media.keys.sorted().first(where: { !played.contains($0) }) else {
            return .playable
        }
        return .unplayable(
            "stream \(empty) (\(media[empty] ?? "")) has nothing to play in the first "
                + "\(readSeconds) s")
    }
}
