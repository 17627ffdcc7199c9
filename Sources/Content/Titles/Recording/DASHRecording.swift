import Model
import Text
import WebURL

/// A reading of an MPD whose title is recorded; a value without I/O.
///
/// Segments that become available by the clock are those of the clock that the MPD names
/// (UTCTiming), otherwise of the origin's answer.
struct DASHRecording: Sendable {
    private var manifest: DASHManifest
    /// The MPD in UTF-8.
    private let text: [UInt8]
    private let options: TitleOptions
    private var clockIsAsked = false
    private var clockIsRead: Bool
    /// True if the clock is needed, and has not answered with a time.
    private var lacksClock = false
    /// URL of the MPD after redirects; nil if it was not redirected.
    let redirectedManifest: WebURL?

    /// Reads an MPD.
    ///
    /// - Parameters:
    ///   - url: the title's URL, from which keys are made.
    ///   - finalURL: the URL of the answer; relative references resolve against it.
    ///   - body: the whole body, at most `DASHManifest.maximumBytes`.
    ///   - nowSeconds: time of the answer by the origin's clock, in seconds since 1970.
    ///
    /// Throws as `DASHManifest.parse` does.
    init(
        _ url: WebURL, finalURL: String, body: [UInt8], options: TitleOptions, nowSeconds: Double
    ) throws(Failure) {
        let final = try ManifestReference(url: url, named: nil, line: 0).redirected(to: finalURL)
        redirectedManifest = final == url ? nil : final
        manifest = try DASHManifest.parse(
            body, url: final, named: url, live: .snapshot(atSeconds: nowSeconds),
            policy: options.policy)
        manifest.keyRules = KeyQueryRules(options.keyQueries)
        text = try MarkupText.utf8(body, of: url)
        self.options = options
        clockIsRead = true
        guard manifest.isLive, let clock = manifest.clock else { return }
        switch clock {
        case .direct(let seconds): manifest.live = .snapshot(atSeconds: seconds)
        case .url:
            lacksClock = manifest.growsByTime
            clockIsRead = !lacksClock
        }
    }

    var isLive: Bool { manifest.isLive }
    var clock: DASHClock? { manifest.clock }
    /// True once the clock was read, or is not needed.
    var isComplete: Bool { clockIsRead }

    /// Returns the request for the clock, once.
    mutating func next() -> [ManifestRequest] {
        guard !clockIsRead, !clockIsAsked, case .url(let url) = manifest.clock else { return [] }
        clockIsAsked = true
        return [ManifestRequest(number: 1, url: url, isClock: true)]
    }

    /// Adds the clock's answer; nil if it cannot be read.
    mutating func receive(clock body: [UInt8]?) {
        clockIsRead = true
        guard let body,
            let seconds = DASHClock.seconds(String(decoding: body.prefix(100), as: UTF8.self))
        else { return }
        lacksClock = false
        manifest.live = .snapshot(atSeconds: seconds)
    }

    /// Counts readings without the clock, of a title whose clock was read before: its time and that
    /// of the MPD's answer may differ, so that segments would be requested before they exist.
    ///
    /// Returns true if this one is to do without it.
    private func losesClock(_ failures: inout Int?) -> Bool {
        guard lacksClock else {
            if case .url = manifest.clock, manifest.growsByTime { failures = 0 }
            return false
        }
        // Never read: the time of the answer counts always.
        guard let before = failures, before < Self.maxClockFailures else { return false }
        failures = before + 1
        return true
    }

    /// Readings in a row without the clock, after which the time of the MPD's answer counts; so that
    /// the recording does not end before.
    private static let maxClockFailures = 10

    /// Returns what a recording lacks of the MPD.
    ///
    /// - Parameter cursor: the place up to which the title is recorded; nil at its beginning.
    ///
    /// Throws `manifest.unsupported` at the beginning for what cannot be recorded; later it is left
    /// out.
    func pass(after cursor: RecordingCursor?) throws(Failure) -> RecordingPass {
        var clockFailures = cursor?.mpd?.clockFailures
        let isClockLost = losesClock(&clockFailures)
        var builder = try DASHPassBuilder(
            manifest, options, after: cursor, isClockLost: isClockLost)
        try builder.addAll()
        var pass = builder.pass()
        pass.update.cursor.mpd?.clockFailures = clockFailures
        pass.update.cursor.mpd?.location = location
        if cursor == nil { pass.warnings = manifest.warnings }
        guard cursor == nil || !builder.begun.isEmpty else { return pass }
        let markup = try DASHRecordedMarkup(
            text, manifest, builder.begun, isFirst: cursor == nil)
        let root = cursor == nil ? markup.root : []
        let periods = markup.periods
        if cursor == nil { pass.update.root = root }
        if !periods.isEmpty { pass.update.periods = periods }
        pass.update.cursor.mpd?.bytes +=
            root.reduce(0) { $0 + $1.text.utf8.count } + periods.reduce(0) { $0 + $1.bytes }
        return pass
    }

    /// The URL from which the MPD is reloaded; nil for that of the title.
    private var location: String? {
        manifest.location.flatMap { try? manifest.url.resolve($0) }?.text
    }
}
