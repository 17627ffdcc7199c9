/// The part of a track that one answer listed, as its viewer knows it.
struct LiveView: Sendable, Equatable {
    /// Numbers of the listed segments; the window has them, and maybe others.
    var numbers: Range<Int64>
    /// The first segment whose parts are listed.
    var firstWithParts = Int64.max
    /// Listed parts of the segment after the last whole one.
    var nextParts = 0
    /// Maximum duration of a segment.
    var targetSeconds = 1.0
    /// Maximum duration of a part; 0 without parts.
    var partTargetSeconds = 0.0
    /// Minimum distance of the start from the edge.
    var holdBackSeconds = 3.0
    var canBlock = false
    var canSkip = false
    var hasEnded = false

    /// True if it lists more than another one.
    func isAhead(of other: LiveView) -> Bool {
        (numbers.upperBound, nextParts) > (other.numbers.upperBound, other.nextParts)
            || hasEnded && !other.hasEnded
    }
}

/// The next position of a viewer in a track.
struct LiveCursor: Sendable, Equatable {
    var number: Int64
    /// Index of the next part of the segment; 0 for the whole segment.
    var part = 0
}

/// A segment, or a part of one, that can be requested.
struct LiveUnit: Sendable {
    /// -1 for a gap.
    var object: Int32
    var seconds: Double
    /// Initialization section and key that it needs.
    var needs: [Int32]
    var next: LiveCursor
}
