import Model
import WebURL

extension HLSResolver {
    /// Returns the track of every media playlist.
    func tracks() -> [TitleTrack] {
        entries.enumerated().compactMap { index, entry in
            guard let playlist = entry.playlist, playlist.kind == .media else { return nil }
            return TitleTrack(
                rendition: entry.track ?? Rendition(id: "", kind: .other),
                playlist: index == 0 ? nil : entry.reference.url,
                redirectedPlaylist: index == 0 ? nil : entry.redirected, period: 0,
                segments: playlist.segments)
        }
    }

    /// Returns the objects of the title in the order of `segments`; playlists that were not
    /// received count only themselves. Throws as `segments` does.
    func listing() throws(Failure) -> ManifestListing {
        var listing = ManifestListing(kind: .hls)
        listing.warnings = try gathered().warnings
        listing.isLive = isLive
        listing.unchosenTracks = unchosenTracks
        listing.keysLeft = keysLeft
        listing.gaps = entries.reduce(0) { $0 + ($1.playlist?.gaps ?? 0) }
        listing.unreadPlaylists = entries.count { $0.playlist == nil }
        listing.renditions = entries.dropFirst().compactMap(\.track)
        let session = sessionObjects
        for object in session where object.role == .key { listing.add(object, rendition: nil) }
        for index in mediaIndexes {
            let segments = entries[index].playlist?.segments ?? ManifestSegments()
            guard index > 0 else {
                listing.add(segments)
                continue
            }
            for segment in segments { listing.add(segment, rendition: index - 1) }
        }
        for object in session where object.role != .key { listing.add(object, rendition: nil) }
        for (index, entry) in entries.enumerated().dropFirst() {
            listing.add(ManifestSegment(entry.reference, .playlist), rendition: index - 1)
        }
        return listing
    }
}
