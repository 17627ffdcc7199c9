/// A live title as it was found before the load: its manifest and its tracks.
package struct LiveSource: Sendable, Equatable {
    package enum Form: Sendable, Equatable { case hls, dash }

    package struct Track: Sendable, Equatable {
        package var name: String
        /// Bits per second; 0 if the manifest does not specify it.
        package var bitsPerSecond: Int64
        /// Of its pictures; nil if unknown.
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
    /// Index of the clock that the MPD names; nil without one.
    package var clock: Int32?
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

/// What the manifest of a live title specifies beside its tracks.
package struct LiveFacts: Sendable {
    package var form: LiveSource.Form
    /// The URL of a clock whose host is allowed; nil without one.
    package var clock: String?
    /// Variables of a multivariant playlist.
    package var variables: [String: String]

    package init(form: LiveSource.Form, clock: String?, variables: [String: String]) {
        self.form = form
        self.clock = clock
        self.variables = variables
    }
}
