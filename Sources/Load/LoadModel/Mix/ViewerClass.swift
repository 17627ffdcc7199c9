/// A class of viewers: their connections, devices and habits.
package struct ViewerClass: Sendable, Equatable, Encodable {
    package var name: String?
    /// Relative to the weights of the other classes, above 0.
    package var weight = 1.0
    /// Bandwidth of each viewer; nil without a limit.
    package var bitsPerSecond: Int64?
    /// Added to each request, and once more to one that opens a connection.
    package var roundTripSeconds = 0.0
    /// Maximum bit rate and height of the renditions that the device plays.
    package var maxBitsPerSecond: Int64?
    package var maxHeight: Int64?
    /// Mean of an exponential distribution of the watched time; nil for the whole title.
    package var meanWatchSeconds: Double?
    /// Mean of an exponential distribution of the time played between two seeks; nil for none.
    package var meanSeekSeconds: Double?
    /// Maximum time that a viewer waits for the first frame, and in one stall; nil for any.
    package var abandonStartupSeconds: Double?
    package var abandonStallSeconds: Double?

    package init() {}

    /// Returns its name, or one by its index.
    package func name(at index: Int) -> String { name ?? "class \(index + 1)" }
}
