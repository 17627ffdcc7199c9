/// The pathways of a title, as they were found before the load.
package struct SteeringSource: Sendable, Equatable {
    package enum Form: String, Sendable, Equatable {
        case hls = "HLS"
        case dash = "DASH"
    }

    /// A pathway of HLS, or a service location of a BaseURL of DASH.
    package struct Pathway: Sendable, Equatable {
        package var name: String
        /// Its own renditions; nil for a service location, where those of the target are.
        package var title: MediaTitle?
        package var live: LiveSource?

        package init(name: String) { self.name = name }
    }

    package var form: Form
    /// URL of the steering server; nil without one: viewers then change the pathway if it fails.
    package var serverURL: String?
    /// URL of a proxy that is asked for what the server answers; nil without one.
    package var proxyURL: String?
    /// Index of the object that steering requests count as, with the URL of the proxy or the server;
    /// nil without a server.
    package var server: Int32?
    /// One or more, the most preferred one first.
    package var pathways: [Pathway]
    /// Names of pathways of which a viewer has one at a time: all of HLS; those of each level of
    /// BaseURLs that the plan's objects have. One or more.
    package var groups: [[String]]
    /// Absolute URLs, one of each origin that service locations lead to; empty for HLS.
    package var bases: [String] = []
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
        groups = [pathways.map(\.name)]
    }
}
