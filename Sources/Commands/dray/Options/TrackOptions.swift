import CommandLine
import Model
import Text
import Titles

/// Options that select the tracks of titles.
enum TrackOptions {
    /// Options of a command that only lists titles.
    static let ofLists =
        selection + [
            CommandOption(
                "live", .choice(placeholder: "snapshot", of: ["snapshot"]),
                help: "List what a live title has when its manifest is read. Default: a live title "
                    + "fails.")
        ]

    /// Options of a command that fetches titles.
    static let ofFetches =
        selection + [
            CommandOption(
                mayLack, .text(placeholder: "KINDS"),
                help:
                    "Titles: complete without renditions of these kinds that cannot be fetched: "
                    + "video,audio,subtitles,image. Default: such a title fails."),
            CommandOption(
                "live", .choice(placeholder: "MODE", of: ["snapshot", "record"]),
                help:
                    "Fetch what a live title lists when its manifest is read (snapshot), or all "
                    + "that it lists until it ends (record). Default: a live title fails."),
            CommandOption(
                until, .text(placeholder: "TIME"),
                help: "End the recordings of --live record at this time, such as 6h from now."),
        ]

    private static let until = "until"
    private static let mayLack = "may-lack"

    private static let selection = [
        CommandOption(
            "max-height", .integer(placeholder: "LINES", range: 1...100_000),
            help: "Titles: skip renditions with a greater height."),
        CommandOption(
            "max-bitrate", .text(placeholder: "RATE"),
            help: "Titles: skip renditions with a higher peak bit rate: 4500k, 4.5M."),
        CommandOption(
            "prefer-bitrate", .text(placeholder: "RATE"),
            help: "Titles: fetch one rendition, the nearest to this bit rate."),
        CommandOption(
            "codecs", .text(placeholder: "LIST"),
            help: "Titles: fetch these codecs only: h264, hevc, av1, aac, or as manifests name "
                + "them, avc1.64."),
        CommandOption(
            "audio", .text(placeholder: "LANGUAGES"),
            help: "Titles: fetch audio in these languages only: en,de; or none."),
        CommandOption(
            "subtitles", .text(placeholder: "LANGUAGES"),
            help: "Titles: fetch subtitles in these languages only: en,de; or none."),
        CommandOption(
            "tracks", .choice(placeholder: "all", of: ["all"]),
            help: "Titles: fetch all tracks. This is the default."
        ),
        CommandOption(
            "no-keys", .flag,
            help: "Do not store decryption keys; manifests keep the origin's key URLs."),
        CommandOption(
            "strict", .flag,
            help:
                "Reject manifests that break rules which players tolerate. Default: warn."),
    ]

    /// Returns the track selection of titles; nil for all tracks.
    static func titles(_ arguments: Arguments) throws(UsageError) -> TitleOptions? {
        var titles = TitleOptions()
        titles.tracks.maximumHeight = arguments.integer("max-height").map { Int64($0) }
        titles.tracks.maximumBitsPerSecond = try rate("max-bitrate", arguments)
        titles.tracks.preferredBitsPerSecond = try rate("prefer-bitrate", arguments)
        titles.tracks.codecs = try names("codecs", arguments)
        titles.tracks.audio = try names("audio", arguments)
        titles.tracks.subtitles = try names("subtitles", arguments)
        if arguments.flag("no-keys") { titles.leavesKeys = true }
        if arguments.flag("strict") { titles.isStrict = true }
        if arguments.text("tracks") != nil {
            guard titles.tracks.isEverything else {
                throw UsageError(
                    "--tracks all cannot be used with other track options",
                    hint:
                        "Use --tracks all alone, or --max-height, --audio and others "
                        + "without it.")
            }
        }
        switch arguments.text("live") {
        case "snapshot": titles.takesSnapshots = true
        case "record": titles.records = true
        default: break
        }
        return titles.isDefault ? nil : titles
    }

    /// Returns the track selection of titles that are fetched, with the end of their recordings.
    static func fetchedTitles(_ arguments: Arguments) throws(UsageError) -> TitleOptions? {
        var titles = try titles(arguments)
        if let kinds = try renditionKinds(arguments) {
            guard titles?.records != true else {
                throw UsageError(
                    "--may-lack cannot be used with --live record",
                    hint: "Omit --may-lack: a recording notes missing segments as gaps.")
            }
            titles = titles ?? TitleOptions()
            titles?.mayLack = kinds
        }
        guard let time = try TimeOptions.futureTime(until, arguments) else { return titles }
        guard titles?.records == true else {
            throw UsageError(
                "--until is for recordings", hint: "Add --live record, or omit --until.")
        }
        titles?.recordsUntilSeconds = time
        return titles
    }

    /// Parses `4500k`, `4.5M` or `4500000` to bits per second.
    static func bitsPerSecond(_ text: String) -> Int64? {
        let units: [Character: Double] = [
            "k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "g": 1e9, "G": 1e9,
        ]
        var number = Substring(text)
        for ending in ["bit/s", "bps"] where number.hasSuffix(ending) {
            number = number.dropLast(ending.count)
        }
        var factor = 1.0
        if let last = number.last, let unit = units[last] {
            factor = unit
            number = number.dropLast()
        }
        let isDecimal =
            !number.isEmpty && number.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
        guard isDecimal, let value = Double(number), (1...1e12).contains(value * factor) else {
            return nil
        }
        return Int64(value * factor)
    }

    /// Reads the kinds of renditions that titles may lack; nil for none.
    private static func renditionKinds(
        _ arguments: Arguments
    ) throws(UsageError) -> [RenditionKind]? {
        guard let text = arguments.text(mayLack) else { return nil }
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map {
            String($0.drop { $0 == " " })
        }
        let kinds = words.compactMap(RenditionKind.init(rawValue:))
        guard kinds.count == words.count else {
            throw UsageError(
                "--may-lack is '\(printable(text))'",
                hint: "Name \(RenditionKind.allCases.map(\.rawValue).joined(separator: ", ")), "
                    + "separated by commas.")
        }
        return RenditionKind.allCases.filter(kinds.contains)
    }

    private static func rate(_ name: String, _ arguments: Arguments) throws(UsageError) -> Int64? {
        guard let text = arguments.text(name) else { return nil }
        guard let rate = bitsPerSecond(text) else {
            throw UsageError(
                "--\(name) is '\(printable(text))'", hint: "Write 4500k, 4.5M or 4500000.")
        }
        return rate
    }

    /// Returns true for a language tag (RFC 5646), for the form `pt_BR` of some manifests, or for
    /// `*`, which matches all.
    private static func isLanguage(_ text: String) -> Bool {
        text == "*" || text.wholeMatch(of: /[A-Za-z]{1,8}([-_][A-Za-z0-9]{1,8})*/) != nil
    }

    /// Reads a comma-separated list; empty for `none`.
    private static func names(
        _ name: String, _ arguments: Arguments
    ) throws(UsageError) -> [String]? {
        guard let text = arguments.text(name) else { return nil }
        if text == "none", name != "codecs" { return [] }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map {
            String($0.drop { $0 == " " })
        }
        guard name == "codecs" || !names.contains("none") else {
            throw UsageError(
                "--\(name) is '\(printable(text))'", hint: "Use --\(name) none alone, or languages."
            )
        }
        let isValid = names.allSatisfy { word in
            (1...100).contains(word.utf8.count) && word.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }
        guard isValid, (1...50).contains(names.count) else {
            throw UsageError(
                "--\(name) is '\(printable(text))'", hint: "Separate several by commas.")
        }
        guard name == "codecs" || names.allSatisfy(isLanguage) else {
            throw UsageError(
                "--\(name) is '\(printable(text))'",
                hint: "Name languages by their codes: en, de, pt-BR.")
        }
        if name == "codecs", let unknown = names.first(where: { !TrackSelection.isCodec($0) }) {
            throw UsageError(
                "--codecs names '\(printable(unknown))'",
                hint:
                    "Name \(TrackSelection.codecNames.joined(separator: ", ")), or a codec as manifests do: "
                    + "avc1, hvc1.1.6.L93.B0, mp4a.40.2.")
        }
        return names
    }
}
