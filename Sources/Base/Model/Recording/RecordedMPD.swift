extension RecordingCursor {
    /// A live MPD that is followed. Times of periods are nanoseconds on its timeline.
    package struct MPD: Codable, Hashable, Sendable {
        /// A representation of a period. Its segments are known by their positions: their numbers
        /// if its template has `$Number$`, otherwise their times.
        package struct Track: Codable, Hashable, Sendable {
            /// `Representation@id`; with `#` and its number if several of its period have it.
            package var id: String
            /// Its number in the recording, which `RecordedEntry.playlist` names.
            package var number: Int
            /// Hash of the names of its files.
            package var name: String
            /// The base of its names and the template of its segments when it began, as the stored
            /// MPD has them: later readings may have others.
            package var base = ""
            package var media = ""
            package var isNumbered = false
            /// `Representation@bandwidth` then, which the template may name.
            package var bandwidth: Int64 = 0
            /// Units per second then, and the time of its period's start in them.
            package var timescale: Int64 = 1
            package var offset: Int64 = 0
            /// Position of the first segment that is not recorded; nil before its first one.
            package var next: Int64?
            /// End and duration of its last recorded segment, in units of `timescale`.
            package var end: Int64 = 0
            package var duration: Int64 = 0

            package init(id: String, number: Int, name: String) {
                self.id = id
                self.number = number
                self.name = name
            }

            /// Bytes of its texts.
            package var bytes: Int { id.utf8.count + base.utf8.count + media.utf8.count }
        }

        /// A period with recorded segments.
        package struct Period: Codable, Hashable, Sendable {
            /// Nil for one without, which is known by its start.
            package var id: String?
            package var start: Int64
            /// Time from which on its segments are missing if they are not listed; nil for the
            /// first one, which begins with what is listed.
            package var previousEnd: Int64?
            package var tracks: [Track] = []
            /// Hashes of the names of representations that it listed, and that are not recorded.
            package var others: [String] = []

            package init(id: String?, start: Int64, previousEnd: Int64?) {
                self.id = id
                self.start = start
                self.previousEnd = previousEnd
            }
        }

        /// The URL that is reloaded, from its Location; nil for that of the title.
        package var location: String?
        /// The periods from the first one that it listed at the last reload.
        package var periods: [Period] = []
        /// Number of recorded periods and of their tracks so far.
        package var periodCount = 0
        package var trackCount = 0
        /// Start of the last recorded period.
        package var lastStart: Int64?
        /// End of what is recorded.
        package var end: Int64?
        /// By the hash of the names of files: the first position that is not recorded; of an
        /// initialization section the number of its period. `maxNames` at most.
        package var names: [String: Int64] = [:]
        /// Bytes of the recorded MPD so far.
        package var bytes = 0
        /// Readings in a row in which the clock that the MPD names could not be read; nil if it never
        /// was.
        package var clockFailures: Int?
        /// True if nothing is listed any more that is not recorded; it is not reloaded.
        package var hasEnded = false
        /// True if a period could not begin, because too many tracks are listed.
        package var isFull = false

        package init() {}

        /// Names from which on all files of further tracks get marks.
        package static let maxNames = 500
        /// Maximum number of tracks of the listed periods, and of bytes of their texts.
        package static let maxTracks = 2_000
        package static let maxTrackBytes = 1 << 20
        /// Maximum number of `others` of the listed periods.
        package static let maxOthers = 2_000
        /// Limit of numbers and times of segments, far below an overflow in sums.
        package static let maxPosition: Int64 = 1 << 61
        /// Limit of timescales: they have 32 bits (ISO/IEC 23009-1).
        package static let maxTimescale: Int64 = 1 << 32
        /// Bytes of an S element, at most.
        package static let bytesOfRun = 80
    }
}

/// A text with values that are known at the end of a recording.
package struct RecordedPiece: Codable, Hashable, Sendable {
    /// A value that follows a text.
    package enum Value: String, Codable, CaseIterable, Sendable {
        /// `MPD@mediaPresentationDuration`.
        case duration
        /// The Period elements.
        case periods
        /// `Period@start`.
        case start
        /// `SegmentTemplate@presentationTimeOffset`, `@startNumber`, and the S elements.
        case offset, number, timeline
    }

    package var text: String
    /// Number of the set in its period that it belongs to; nil outside of sets.
    package var set: Int?
    /// Number of the track in the recording that it belongs to; nil outside of tracks.
    package var track: Int?
    package var value: Value?

    package init(text: String, set: Int? = nil, track: Int? = nil, value: Value? = nil) {
        self.text = text
        self.set = set
        self.track = track
        self.value = value
    }
}

/// A period of a live MPD, as its recording lists it in the end.
package struct RecordedPeriod: Codable, Hashable, Sendable {
    package struct Track: Codable, Hashable, Sendable {
        /// Its number in the recording.
        package var number: Int
        /// Units per second, and the time of the period's start in them.
        package var timescale: Int64
        package var offset: Int64
        /// True if segments have numbers in their names.
        package var isNumbered: Bool

        package init(number: Int, timescale: Int64, offset: Int64, isNumbered: Bool) {
            self.number = number
            self.timescale = timescale
            self.offset = offset
            self.isNumbered = isNumbered
        }
    }

    /// Its number in the recording.
    package var number: Int
    /// In nanoseconds on the MPD's timeline.
    package var start: Int64
    /// Prefix of names of its elements, with its colon; empty for none.
    package var prefix: String
    package var tracks: [Track]
    package var pieces: [RecordedPiece]

    package init(
        number: Int, start: Int64, prefix: String, tracks: [Track], pieces: [RecordedPiece]
    ) {
        self.number = number
        self.start = start
        self.prefix = prefix
        self.tracks = tracks
        self.pieces = pieces
    }

    /// Bytes of its texts.
    package var bytes: Int { pieces.reduce(0) { $0 + $1.text.utf8.count } }
}

/// The values of a recorded segment of an MPD, as `RecordedEntry.tags` has them.
package struct RecordedTimes: Hashable, Sendable {
    /// In units of the track's timescale.
    package var time: Int64
    package var duration: Int64

    package init(time: Int64, duration: Int64) {
        self.time = time
        self.duration = duration
    }

    /// Nil for another text.
    package init?(_ text: String) {
        let numbers = text.split(separator: " ").map { Int64($0) }
        guard numbers.count == 2, let time = numbers[0], let duration = numbers[1] else {
            return nil
        }
        self.init(time: time, duration: duration)
    }

    package var text: String { "\(time) \(duration)" }
}

/// Writes durations of XML Schema (part 2, 3.3.6).
package enum XMLDuration {
    /// Returns a duration in seconds, such as `PT12.5S`.
    package static func text(nanoseconds: Int128) -> String {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard rest > 0 else { return "PT\(seconds)S" }
        var digits = "\(1_000_000_000 + rest)".dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "PT\(seconds).\(digits)S"
    }
}
