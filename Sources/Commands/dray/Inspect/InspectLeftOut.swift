import Client
import Model
import Rendering
import Titles

/// Lists what the totals of `dray inspect` omit.
struct LeftOut: Encodable {
    /// Tracks that were not chosen.
    var tracks: Int
    /// Playlists that are listed and were not read.
    var unreadPlaylists: Int
    /// Keys that are left with the origin.
    var keys: Int
    /// Segments that the manifest says are not there.
    var gaps: Int
    /// Objects that are counted and have no size in the estimate, by role.
    var unknownSizes: [String: Int]
    /// Playlists that were read, and the manifest: their own bytes are in no estimate.
    var manifests: Int
    /// Segments that a live title adds after this reading.
    var later: Bool

    /// Nil where nothing was listed.
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

    /// For people.
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
