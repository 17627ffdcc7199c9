/// What a viewer has fetched beside segments: the manifest, and setup objects of its title's tracks.
struct FetchedNeeds: Sendable {
    var hasManifest = false
    /// True if video and audio have the objects that their first segments need.
    var isSetUp = false
    /// The setup objects: one bit each, by `MediaTitle.number`.
    private var words: [UInt64] = []

    /// Forgets all but the manifest: another pathway has objects of its own.
    mutating func forgetObjects() {
        isSetUp = false
        words = []
    }

    func contains(_ number: Int?) -> Bool {
        guard let number else { return false }
        let (word, bit) = number.quotientAndRemainder(dividingBy: 64)
        return word < words.count && words[word] & (1 << UInt64(bit)) != 0
    }

    mutating func insert(_ number: Int) {
        let (word, bit) = number.quotientAndRemainder(dividingBy: 64)
        while words.count <= word { words.append(0) }
        words[word] |= 1 << UInt64(bit)
    }

    /// Returns the first missing object that a track's next segment needs.
    func missing(
        of track: MediaTitle.Track, in title: MediaTitle, _ progress: inout Viewer.Progress
    ) -> Int32? {
        let part =
            progress.segment < track.segments.count ? track.segments[progress.segment].part : -1
        if progress.readyPart == part { return nil }
        for need in track.setup where !contains(title.number(of: need)) { return need }
        for need in track.needs(ofPart: part) where !contains(title.number(of: need)) {
            return need
        }
        progress.readyPart = part
        return nil
    }
}
