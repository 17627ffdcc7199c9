import Model

/// The renditions that a multivariant playlist offers, to find those that join while it is
/// recorded.
///
/// Renditions are known by their attributes: their URLs may be those of a session, and packagers
/// measure bit rates again.
struct HLSOffers: Sendable {
    struct Offer: Sendable {
        /// Hash of its attributes; several may have the same.
        var hash: String
        /// Its name for messages.
        var text: String
        /// True if the title's selection takes it.
        var isWanted: Bool
    }

    private(set) var all: [Offer] = []

    /// Reads a multivariant playlist that `HLSPlaylist.parse` has accepted.
    init(_ body: [UInt8], _ selection: TrackSelection) {
        let entries = HLSTracks(body).entries
        let wanted = try? selection.wanted(entries.map(\.rendition))
        for (index, entry) in entries.enumerated() {
            let rendition = entry.rendition
            // I-frame playlists are not recorded; a rendition without a URI is in its variants.
            guard !rendition.isTrickMode, !rendition.id.isEmpty else { continue }
            let attributes = [
                rendition.kind.rawValue, rendition.group ?? "", entry.name ?? "",
                rendition.language ?? "", rendition.height.map(String.init) ?? "",
                rendition.codecs ?? "", rendition.groups.sorted().joined(separator: " "),
            ]
            var text = rendition.group == nil ? "variant" : "\(rendition.kind.rawValue) rendition"
            if let name = entry.name { text += " \(name.prefix(100))" }
            all.append(
                Offer(
                    hash: DASHPassBuilder.hash(attributes.joined(separator: "\n")),
                    text: "\(text) (\(TrackSelection.text(rendition)))",
                    isWanted: wanted?[index] ?? true))
        }
    }
}

extension RecordingCursor {
    /// Remembers what the multivariant playlist offers; returns the names of what has joined since
    /// it was read before.
    ///
    /// - Parameter offers: nil if it was not read.
    mutating func note(_ offers: HLSOffers?, isFirst: Bool) -> [String] {
        guard let offers = offers?.all else { return [] }
        guard !isFirst else {
            offered = offers.count <= Self.maxOffered ? offers.map(\.hash) : nil
            return []
        }
        guard var known = offered else { return [] }
        var left = known.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        var joined: [String] = []
        for offer in offers where known.count < Self.maxOffered {
            if let count = left[offer.hash], count > 0 {
                left[offer.hash] = count - 1
                continue
            }
            known.append(offer.hash)
            if offer.isWanted { joined.append(offer.text) }
        }
        offered = known
        return joined
    }
}

extension HLSResolver {
    /// The multivariant playlist of a recording.
    struct RecordedManifest {
        enum Look: Sendable { case due, asked, answered }

        /// I-frame playlists, which a recording leaves out: they name byte ranges of segments.
        var leftOut: [HLSPlaylist.Child] = []
        /// Its renditions; nil if it was not read.
        var offers: HLSOffers?
        /// The request that looks what has joined the recording; nil without one.
        var look: Look?
    }
}
