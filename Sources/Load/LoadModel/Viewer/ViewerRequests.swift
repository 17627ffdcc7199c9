/// The current requests of a viewer, one for each lane.
struct ViewerRequests: Sendable {
    /// The object of a request.
    enum Object: Sendable, Equatable {
        case manifest
        /// An object that segments need: playlist, initialization section, key, index.
        case need(Int32)
        case segment
        case audioSegment
    }

    /// The request of a lane.
    struct Current: Sendable {
        var object: Object?
        /// Time at which a failed request is retried, or a full buffer has space.
        var resumesSeconds: Double?
        /// True if it was sent for the pathway before.
        fileprivate(set) var isOfOldPathway = false
        fileprivate var tries = RequestTries()
    }

    private var video = Current()
    private var audio = Current()

    subscript(lane: ViewerLane) -> Current {
        get { lane == .video ? video : audio }
        set {
            if lane == .video { video = newValue } else { audio = newValue }
        }
    }

    var isIdle: Bool { video.object == nil && audio.object == nil }

    /// Records that a lane's request has failed. Returns the time at which it is retried; nil if the viewer has
    /// failed.
    mutating func failed(_ lane: ViewerLane, atSeconds now: Double) -> Double? {
        guard let again = self[lane].tries.failed(atSeconds: now) else { return nil }
        endOld(lane)
        self[lane].resumesSeconds = again
        return again
    }

    func isLastTry(_ lane: ViewerLane) -> Bool {
        self[lane].object != nil && self[lane].tries.isLast
    }

    /// Repeats a lane's request at once.
    mutating func retry(_ lane: ViewerLane) {
        self[lane].tries = RequestTries()
        self[lane].resumesSeconds = nil
        endOld(lane)
    }

    /// Lets what the new pathway needs be decided again.
    private mutating func endOld(_ lane: ViewerLane) {
        guard self[lane].isOfOldPathway else { return }
        self[lane].object = nil
        self[lane].isOfOldPathway = false
    }

    /// Continues on another pathway. Requests in flight end first.
    ///
    /// - Parameter failed: the lane whose request has just failed; nil for none.
    mutating func changePathway(failed: ViewerLane?) {
        for lane in ViewerLane.allCases where self[lane].object != nil {
            if lane == failed || self[lane].resumesSeconds != nil {
                self[lane] = Current()
            } else {
                self[lane].isOfOldPathway = true
            }
        }
    }
}
