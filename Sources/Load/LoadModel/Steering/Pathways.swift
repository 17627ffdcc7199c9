import Model
import Titles

/// The pathways of a title's tracks: variants of HLS with the same PATHWAY-ID, and the renditions
/// that they play with.
struct Pathways {
    /// By name, in the order of the manifest, but the one to begin with first.
    private(set) var all: [(name: String, tracks: [TitleTrack])] = []

    /// Throws `manifest.unsupported` for names that cannot be sent, and `manifest.tooMany`.
    init(_ tracks: [TitleTrack], _ steering: ContentSteering?) throws(Failure) {
        let variants = tracks.filter { $0.rendition.group == nil && !$0.rendition.isTrickMode }
        var names: [String] = []
        for variant in variants where !names.contains(Self.name(of: variant)) {
            names.append(Self.name(of: variant))
            guard names.count <= ContentSteering.maxPathways else {
                throw Failure(
                    .manifestTooMany, "more than \(ContentSteering.maxPathways) pathways")
            }
        }
        if steering != nil || names.count > 1,
            let bad = names.first(where: { !ContentSteering.isName($0) })
        {
            throw Failure(
                .manifestUnsupported, "the PATHWAY-ID \(Redaction.shown(bad)) cannot be sent")
        }
        guard names.count > 1 else {
            all = [(names.first ?? ContentSteering.unnamed, tracks)]
            return
        }
        if let first = steering?.first.first, let index = names.firstIndex(of: first) {
            names.insert(names.remove(at: index), at: 0)
        }
        for name in names {
            all.append(
                (
                    name,
                    tracks.filter { $0.rendition.group != nil || Self.name(of: $0) == name }
                ))
        }
    }

    private static func name(of track: TitleTrack) -> String {
        track.rendition.pathway ?? ContentSteering.unnamed
    }
}
