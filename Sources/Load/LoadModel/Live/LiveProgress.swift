/// The progress of a live viewer in its video or its audio: each has its own requests.
struct LiveProgress {
    /// The object of the current request.
    enum Request: Equatable {
        /// The multivariant playlist or the MPD.
        case manifest
        /// A media playlist; `blocks` if the origin answers once it lists the next position.
        case playlist(object: Int32, blocks: Bool)
        /// The clock that the MPD names.
        case clock(Int32)
        /// An initialization section or a key.
        case need(Int32)
        case unit
    }

    var track: LiveTrack
    /// The list of its last playlist; for DASH, its MPD by now.
    var view: LiveView?
    /// Nil before the start.
    var cursor: LiveCursor?
    /// End of the buffered time, from the viewer's start.
    var bufferedToSeconds = 0.0
    /// Fetched objects that its last segment needed.
    var needs: [Int32] = []
    var request: Request?
    /// The segment or part of the request, if it was sent for the pathway before.
    var oldUnit: LiveUnit?
    /// True if the request was sent for the pathway before.
    var isOfOldPathway = false
    var tries = RequestTries()
    /// Time at which a failed request is retried, or a full buffer has space.
    var resumesSeconds: Double?
    /// Time at which its manifest is requested again.
    var reloadSeconds = Double.infinity
    /// Time at which its playlist last listed something new.
    var changedSeconds = 0.0

    init(_ track: LiveTrack) { self.track = track }

    /// The object of the request; nil without one, and if it is no longer listed.
    func object(ofManifest manifest: Int32?) -> Int? {
        let object: Int32? =
            switch request {
            case .manifest: manifest
            case .playlist(let object, _), .need(let object), .clock(let object): object
            case .unit: unit?.object
            case nil: nil
            }
        guard let object, track.objects.has(object) else { return nil }
        return Int(object)
    }

    /// Continues on another pathway.
    ///
    /// - Parameter ends: true if its request has failed or waits, so that another one takes its
    ///   place.
    mutating func change(toPathway other: LiveTrack, ends: Bool) {
        if request != nil, !ends {
            if request == .unit { oldUnit = unit }
            isOfOldPathway = true
        } else {
            request = nil
            tries = RequestTries()
            resumesSeconds = nil
        }
        change(to: other, isDASH: false)
    }

    /// The next segment or part.
    var unit: LiveUnit? {
        guard let cursor, let view else { return nil }
        return track.unit(cursor, view)
    }

    /// True if the title has ended and all of it is buffered.
    var isAtEnd: Bool {
        guard let view, let cursor, view.hasEnded else { return false }
        return cursor.number >= view.numbers.upperBound
            && (cursor.number > view.numbers.upperBound || cursor.part >= view.nextParts)
    }
}
