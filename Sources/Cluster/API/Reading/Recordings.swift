package import Model

/// Figures of the recording of a live title.
package struct AssetRecording: Codable, Hashable, Sendable {
    /// Segments that its playlists, or its MPD, have listed.
    package var segments: Int
    /// Segments that are missing: no longer listed at a reload, marked as gaps by the origin, or not
    /// to be fetched.
    package var gaps: Int
    /// Seconds that are listed and not stored; 0 after the end.
    package var behindSeconds: Double
    /// The reason for its end; nil while its manifests are reloaded.
    package var end: RecordingEnd?
    /// Names of renditions or representations that have joined the title since, and are not
    /// recorded; nil for none.
    package var unrecorded: [String]?
}

/// Figures of the recordings of a catalog.
package struct CatalogRecording: Codable, Hashable, Sendable {
    /// Titles whose manifests are being reloaded.
    package var recording: Int
    /// All recorded titles.
    package var titles: Int
    /// Totals of the titles.
    package var segments: Int
    package var gaps: Int
    /// The delay of the title that is furthest behind, in seconds.
    package var behindSeconds: Double
    /// Number of renditions and representations that are not recorded.
    package var unrecorded: Int
}
