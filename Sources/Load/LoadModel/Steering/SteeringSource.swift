/// The pathways of a title, as they were found before the load.
package struct SteeringSource: Sendable, Equatable {
    package enum Form: String, Sendable, Equatable {
        case hls = "HLS"
        case dash = "DASH"
    }

    /// A pathway of HLS, or a service location of DASH.
    package struct Pathway: Sendable, Equatable {
        package var name: String
        /// Its own renditions; nil for a service location, where those of the target are.
        package var title: MediaTitle?
        package var live: LiveSource?
        /// Base URL of a service location; empty for HLS.
        package var base = ""

        package init(name: String) { self.name = name }
    }

    package var form: Form
    /// Index of the steering server among the plan's objects; nil without one: viewers then change
    /// the pathway if it fails.
    package var server: Int32?
    /// One or more, the first one to begin with.
    package var pathways: [Pathway]
    /// Base URL that the plan's URLs have; empty for HLS.
    package var base = ""
    /// True if playback waits for the server's first answer.
    package var asksBeforeStart = false
    /// STABLE-VARIANT-ID and STABLE-RENDITION-ID of playlists, by index.
    package var stableIDs: [Int32: StableID] = [:]

    package struct StableID: Sendable, Equatable {
        package var text: String
        /// True for an alternative rendition, false for a variant.
        package var isRendition: Bool
    }

    package init(form: Form, pathways: [Pathway]) {
        self.form = form
        self.pathways = pathways
    }
}
