/// A rendition that a viewer may choose.
protocol PlayedRendition {
    /// Bits per second; 0 if the manifest does not specify it.
    var bitsPerSecond: Int64 { get }
    /// Height of its pictures in pixels; nil if unknown.
    var height: Int64? { get }
}

extension MediaTitle.Track: PlayedRendition {}
extension LiveSource.Track: PlayedRendition {}

/// Chooses renditions, as hls.js does: the highest whose bit rate, with the audio's, is at most
/// `safety` of the estimated throughput; otherwise the lowest.
extension ViewerTraits {
    /// Returns the index of the first rendition.
    func first(of renditions: [some PlayedRendition], _ settings: ViewerSettings) -> Int {
        guard let most = settings.fixedBitsPerSecond ?? settings.startBitsPerSecond else {
            return 0
        }
        return highest(of: renditions, within: Double(most))
    }

    /// Returns the index of the rendition that the throughput allows; nil if it has no influence.
    func best(
        of renditions: [some PlayedRendition], audio: (some PlayedRendition)?,
        _ settings: ViewerSettings, _ estimate: ThroughputEstimate
    ) -> Int? {
        guard settings.fixedBitsPerSecond == nil, renditions.count > 1,
            let throughput = estimate.bitsPerSecond
        else { return nil }
        let sound = Double(audio?.bitsPerSecond ?? 0)
        return highest(of: renditions, within: throughput * settings.safety - sound)
    }

    private func highest(
        of renditions: [some PlayedRendition], within bitsPerSecond: Double
    ) -> Int {
        renditions.lastIndex {
            plays($0.bitsPerSecond, height: $0.height, within: bitsPerSecond)
        } ?? 0
    }
}
