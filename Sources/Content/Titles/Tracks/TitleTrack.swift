package import WebURL

/// One track of a title as a player fetches it: with all that it needs, although others may need it too.
package struct TitleTrack: Sendable {
    /// Of an HLS title that is one media playlist nothing is known.
    package var rendition: Rendition
    /// Of HLS, where a multivariant playlist names it.
    package var playlist: WebURL?
    /// Place of its period, of DASH; 0 in HLS.
    package var period: Int
    /// Initialization sections, keys, indexes and segments, in playback order.
    package var segments: ManifestSegments
}
