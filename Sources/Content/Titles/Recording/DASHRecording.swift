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
    /// The clocks that are left to try, the preferred one first.
    private var clocks: ArraySlice<DASHClock> = []
    /// Times of requested clocks by their index among all; nil for one that cannot be read.
    private var answers: [Int: Double?] = [:]
    /// Number of requested clocks.
    private var asked = 0
    private let references: ClockReferences
    /// True if a clock is needed, and none has answered with a time that is believed.
    private var lacksClock = false
    /// True if a clock was requested, and its answer is used.
    private var usesRequestedClock = false
    /// Clocks that are wrong.
    private var clockWarnings = ManifestWarnings()
    /// URL of the MPD after redirects; nil if it was not redirected.
    let redirectedManifest: WebURL?

    /// Reads an MPD.
    ///
    /// - Parameters:
    ///   - url: the title's URL, from which keys are made.
    ///   - finalURL: the URL of the answer; relative references resolve against it.
    ///   - body: the whole body, at most `DASHManifest.maximumBytes`.
    ///   - answeredSeconds: time of the answer by the origin's clock, in seconds since 1970; nil if
    ///     unknown.
    ///   - machineSeconds: the same by this machine.
    ///   - pausedClocks: URLs of clocks that failed before.
    ///   - clockFailures: that of the cursor.
    ///
    /// Throws as `DASHManifest.parse` does.
    init(
        _ url: WebURL, finalURL: String, body: [UInt8], options: TitleOptions,
        answeredSeconds: Double?, machineSeconds: Double, pausedClocks: Set<String>,
        clockFailures: Int?
    ) throws(Failure) {
        let final = try ManifestReference(url: url, named: nil, line: 0).redirected(to: finalURL)
        redirectedManifest = final == url ? nil : final
        manifest = try DASHManifest.parse(
            body, url: final, named: url,
            live: .snapshot(atSeconds: answeredSeconds ?? machineSeconds), policy: options.policy)
        manifest.keyRules = KeyQueryRules(options.keyQueries)
        text = try MarkupText.utf8(body, of: url)
        self.options = options
        references = ClockReferences(
            answeredSeconds: answeredSeconds, machineSeconds: machineSeconds,
            publishedSeconds: manifest.publishedSeconds)
        guard manifest.isLive else { return }
        lacksClock = manifest.growsByTime && !manifest.clocks.isEmpty
        let paused = manifest.clocks.filter { clock in
            if case .url(let url) = clock { pausedClocks.contains(url) } else { false }
        }
        // After all others, and only if without a clock no segments would follow.
        clocks = manifest.clocks.filter { !paused.contains($0) }[...]
        if Self.isClockNeeded(clockFailures) { clocks += paused }
        tryClocks()
    }

    var isLive: Bool { manifest.isLive }
    /// True once a clock was read, none is left, or none is needed.
    var isComplete: Bool { clocks.isEmpty }

    /// Uses the first clock that is believed, or leaves the next one that has to answer before.
    private mutating func tryClocks() {
        while let clock = clocks.first {
            switch clock {
            case .direct(let seconds):
                if believes(seconds, of: "in the MPD") { return }
            case .url(let url):
                guard manifest.growsByTime else { break }
                guard let answer = answers[clocks.startIndex] else { return }
                if let answer, believes(answer, of: Redaction.shown(url, limit: 200)) {
                    usesRequestedClock = true
                    return
                }
            }
            clocks.removeFirst()
        }
    }

    /// Uses a clock's time unless it is wrong; returns true if it is used.
    private mutating func believes(_ seconds: Double, of name: String) -> Bool {
        if let rejection = references.rejection(of: seconds) {
            clockWarnings.add(
                .dashClock, in: ManifestWarnings.clipped("\(manifest.url)"), line: nil
            ) { "the clock \(name) \(rejection)" }
            return false
        }
        clocks = []
        lacksClock = false
        manifest.live = .snapshot(atSeconds: seconds)
        return true
    }

    /// Returns requests for the preferred clock, then for all others at once: segments may leave the
    /// window while they do not answer. Empty while one has no answer.
    mutating func next() -> [ManifestRequest] {
        guard answers.count == asked else { return [] }
        let most = asked == 0 ? 1 : DASHClock.maxClocks
        var requests: [ManifestRequest] = []
        for (index, clock) in zip(clocks.indices, clocks) where requests.count < most {
            if case .url(let url) = clock {
                requests.append(ManifestRequest(number: index + 1, url: url, isOptional: true))
            }
            // Those after it do not count.
            if case .direct(let seconds) = clock, references.rejection(of: seconds) == nil { break }
        }
        asked += requests.count
        return requests
    }

    /// Adds a clock's answer; nil if it cannot be read.
    mutating func receive(_ request: ManifestRequest, clock body: [UInt8]?) {
        let seconds = body.flatMap {
            DASHClock.seconds(String(decoding: $0.prefix(100), as: UTF8.self))
        }
        answers.updateValue(seconds, forKey: request.number - 1)
        tryClocks()
    }

    /// Counts readings without the clock, of a title whose clock was read before: its time and that
    /// of the MPD's answer may differ, so that segments would be requested before they exist.
    ///
    /// Returns true if this one is to do without it.
    private func losesClock(_ failures: inout Int?) -> Bool {
        guard lacksClock else {
            if usesRequestedClock { failures = 0 }
            return false
        }
        // Never read: the time of the answer counts always.
        guard let before = failures, Self.isClockNeeded(before) else { return false }
        failures = before + 1
        return true
    }

    /// True if a reading without the clock adds no segments that follow from it.
    private static func isClockNeeded(_ failures: Int?) -> Bool {
        failures.map { $0 < maxClockFailures } ?? false
    }

    /// Readings in a row without the clock, after which the time of the MPD's answer counts; so that
    /// the recording does not end before.
    private static let maxClockFailures = 10

    /// Returns what a recording lacks of the MPD.
    ///
    /// - Parameter cursor: the position up to which the title is recorded; nil at its beginning.
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
        // Before the manifest's others, of which the first ones are kept.
        pass.warnings = clockWarnings
        if cursor == nil { pass.warnings.add(manifest.warnings) }
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
        manifest.locations.first.flatMap { try? manifest.url.resolve($0.reference) }?.text
    }
}
