import Client
import Model
import Rendering
import Titles

/// Lists what the totals of `dray inspect` omit.
struct LeftOut: Encodable {
    /// Number of tracks that were not chosen.
    var tracks: Int
    /// Number of listed playlists that were not read.
    var unreadPlaylists: Int
    /// Number of keys that stay at the origin.
    var keys: Int
    /// Number of segments that the manifest marks as missing.
    var gaps: Int
    /// Number of counted objects without a size in the estimate, by role.
    var unknownSizes: [String: Int]
    /// Number of manifests and playlists that were read: no estimate includes their own bytes.
    var manifests: Int
    /// True if a live title will add segments.
    var later: Bool

    /// Creates the list; nil without a listing.
    init?(_ inspection: Inspection) {
        guard let listing = inspection.listing else { return nil }
        tracks = listing.unchosenTracks
        unreadPlaylists = listing.unreadPlaylists
        keys = listing.keysLeft
        gaps = listing.gaps
        unknownSizes = [:]
        for (role, count) in listing.unknownSizes {
            unknownSizes[InspectReport.name(of: role), default: 0] += count
        }
        let playlists = listing.segments.count { $0.role == .playlist }
        manifests = 1 + playlists - listing.unreadPlaylists
        later = listing.isLive
    }

    /// Text for people.
    var text: String {
        var parts: [String] = []
        func add(_ count: Int, _ what: String, _ ending: String = "") {
            if count > 0 { parts.append(HumanFormat.count(count, what) + ending) }
        }
        add(tracks, "track", " that \(tracks == 1 ? "was" : "were") not chosen")
        add(unreadPlaylists, "playlist", " that \(unreadPlaylists == 1 ? "was" : "were") not read")
        add(keys, "key", " left at the origin")
        add(gaps, "gap", " (EXT-X-GAP)")
        let names = [
            "init": "initialization section", "media": "segment", "subtitles": "subtitle file",
        ]
        let sizes = unknownSizes.sorted { $0.key < $1.key }.map { role, count in
            HumanFormat.count(count, names[role] ?? (role == "index" ? "data file" : role))
        }
        if !sizes.isEmpty { parts.append("the size of \(sizes.joined(separator: ", "))") }
        parts.append(
            manifests == 1
                ? "the manifest itself" : "\(HumanFormat.count(manifests, "manifest")) themselves")
        if later { parts.append("what the live title adds later") }
        return parts.joined(separator: "; ")
    }
}
