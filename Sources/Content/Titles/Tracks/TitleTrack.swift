package import WebURL

/// One track of a title as a player fetches it, with all objects that it needs, including shared
/// ones.
package struct TitleTrack: Sendable {
    /// Unknown for an HLS title of one media playlist.
    package var rendition: Rendition
    /// Its playlist, for HLS with a multivariant playlist.
    package var playlist: WebURL?
    /// The playlist's URL after redirects, if it was redirected.
    package var redirectedPlaylist: WebURL?
    /// Index of its DASH period; 0 in HLS.
    package var period: Int
    /// The BaseURLs of DASH above its segments; nil if none has a service location.
    package var locations: BaseURLLevels?
    /// Initialization sections, keys, indexes and segments, in playback order.
    package var segments: ManifestSegments
}
