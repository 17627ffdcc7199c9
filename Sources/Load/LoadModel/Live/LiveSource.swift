package import Titles

/// A clock that an MPD names.
package enum LiveClock: Sendable, Equatable {
    /// The time in the viewer's MPD: its index among those with scheme `direct`.
    case direct(Int)
    /// Index of its object in the plan.
    case url(Int32)
}

/// A live title as it was found before the load: its manifest and its tracks.
package struct LiveSource: Sendable, Equatable {
    package enum Form: Sendable, Equatable { case hls, dash }

    package struct Track: Sendable, Equatable {
        package var name: String
        /// Bits per second; 0 if the manifest does not specify it.
        package var bitsPerSecond: Int64
        /// Height of its pictures in pixels; nil if unknown.
        package var height: Int64?
        /// The id of a DASH representation.
        package var id: String
        /// Index of its playlist in the plan; of the MPD for DASH.
        package var playlist: Int32
        /// Index of the object that all its segments count as.
        package var segments: Int32

        package init(
            name: String, bitsPerSecond: Int64, height: Int64? = nil, id: String, playlist: Int32,
            segments: Int32
        ) {
            self.name = name
            self.bitsPerSecond = bitsPerSecond
            self.height = height
            self.id = id
            self.playlist = playlist
            self.segments = segments
        }
    }

    package var form: Form
    /// Index of the multivariant playlist or of the MPD; nil for a title of one media playlist.
    package var manifest: Int32?
    /// Variables of the multivariant playlist.
    package var variables: [String: String] = [:]
    /// The clocks that the MPD names, the preferred one first.
    package var clocks: [LiveClock] = []
    /// The origin's clock less this machine's, by the answer before the load; nil if unknown.
    package var answerOffsetSeconds: Double?
    /// Absolute URLs of the MPD's Locations, one of each origin that they lead to.
    package var reloadHosts: [String] = []
    /// One or more, by bit rate, the lowest first.
    package var video: [Track]
    /// Played with any of `video`; nil if these include audio, or if there is none.
    package var audio: Track?

    package init(form: Form, manifest: Int32?, video: [Track], audio: Track? = nil) {
        self.form = form
        self.manifest = manifest
        self.video = video
        self.audio = audio
    }
}

/// Properties of a live title's manifest beside its tracks.
package struct LiveTitleProperties: Sendable {
    package var form: LiveSource.Form
    /// The clocks of an MPD, without those whose hosts are not allowed.
    package var clocks: [DASHClock]
    /// The origin's clock less this machine's, by its answer; nil if unknown.
    package var answerOffsetSeconds: Double?
    /// The Locations of an MPD; nil without one.
    package var reloads: BaseURLLevels?
    /// Variables of a multivariant playlist.
    package var variables: [String: String]

    package init(
        form: LiveSource.Form, clocks: [DASHClock], answerOffsetSeconds: Double? = nil,
        reloads: BaseURLLevels? = nil, variables: [String: String]
    ) {
        self.answerOffsetSeconds = answerOffsetSeconds
        self.form = form
        self.clocks = clocks
        self.reloads = reloads
        self.variables = variables
    }
}
