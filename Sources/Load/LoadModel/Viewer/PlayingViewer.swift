package import Model

/// One of a viewer's parallel requests.
package enum ViewerLane: Int, Sendable, CaseIterable {
    /// The manifest and the video; of a title without parallel requests, all.
    case video
    case audio
}

/// A viewer as the loop that sends its requests sees it: `Viewer` or `LiveViewer`.
///
/// After each event of a lane, and after the end of its wait, `next` is called for it, and for
/// every other lane without a request: what one received may be what another needs.
package protocol PlayingViewer {
    /// A title as it plays it.
    associatedtype Title

    /// Number of its parallel requests, the first of `ViewerLane`.
    var lanes: Int { get }

    /// Its totals; complete after `finish`.
    var totals: ViewerTotals { get }

    /// Measured throughput in bits per second; nil if unknown.
    var throughput: Double? { get }

    /// Returns true if another failure of a lane's request ends it.
    func isLastTry(_ lane: ViewerLane) -> Bool

    /// Continues at the same position on another pathway of its title.
    ///
    /// - Parameter failed: the lane whose request has just failed; nil for none.
    mutating func change(to title: Title, failed: ViewerLane?)

    /// Repeats the failed request of a lane at once.
    mutating func retry(_ lane: ViewerLane)

    /// Returns true if the body of a lane's request is needed.
    func readsBody(_ lane: ViewerLane) -> Bool

    /// Returns the next action of a lane without a current request.
    mutating func next(_ lane: ViewerLane, atSeconds now: Double) -> Viewer.Action

    /// Adds the last requested object of a lane.
    ///
    /// - Parameters:
    ///   - body: if it is needed, otherwise empty.
    ///   - tookSeconds: from sending the request to its last byte.
    ///
    /// Throws `manifest.…` for a manifest that cannot be read; `failed` is called then.
    mutating func received(
        _ lane: ViewerLane, bytes: Int64, body: [UInt8], tookSeconds: Double,
        atSeconds now: Double, into interval: inout LoadInterval
    ) throws(Failure)

    /// Returns the action after a failed request of a lane.
    mutating func failed(_ lane: ViewerLane, atSeconds now: Double) -> Viewer.Action

    /// Returns true, once, if it leaves because it has waited too long.
    mutating func abandons(atSeconds now: Double) -> Bool

    /// Adds the changes since the last call; called once a second and at the end.
    mutating func account(toSeconds now: Double, into interval: inout LoadInterval)

    /// Adds the remaining time and its own figures, once, and counts it as ended.
    mutating func finish(
        atSeconds now: Double, isCutOff: Bool, usualStartupSeconds: Double,
        into interval: inout LoadInterval)
}
