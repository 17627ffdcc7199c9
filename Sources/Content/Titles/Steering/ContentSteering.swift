import Model

/// Content steering as a manifest declares it: EXT-X-CONTENT-STEERING of HLS (RFC 8216bis, 4.4.6.6)
/// and ContentSteering of DASH (ETSI TS 103 998).
package struct ContentSteering: Sendable, Equatable {
    /// Absolute URL of the steering server; nil without one, if the manifest only names locations.
    package var serverURL: String?
    /// Absolute URL of a proxy that is asked for what the server answers; nil without one. Drafts
    /// of DASH-IF's specification have it (`proxyServerURL`).
    package var proxyURL: String?
    /// The pathway, or the service locations, to begin with, the most preferred one first; empty
    /// for the first one of the manifest.
    package var first: [String] = []
    /// True if the server is to be asked before playback starts (`queryBeforeStart`).
    package var asksBeforeStart = false
    /// Names of the service locations of an MPD, in its order; empty for HLS, whose variants name
    /// pathways.
    package var locations: [String] = []

    /// The pathway of variants without PATHWAY-ID.
    package static let unnamed = "."
    /// Maximum number of pathways of a title, clones included.
    package static let maxPathways = 50
    /// Maximum length of a pathway's name in bytes.
    package static let nameBytes = 200

    /// Returns true for a name that can be sent to a steering server.
    package static func isName(_ text: String) -> Bool {
        (1...nameBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x2C }
    }

    /// Returns the failure of a manifest whose steering cannot be followed.
    static func failure(_ manifest: String, _ what: String) -> Failure {
        Failure(.manifestUnsupported, at: .manifest(manifest), "content steering: \(what)")
    }
}
