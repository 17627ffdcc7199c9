import Model

/// The objects that a reading of an MPD adds: each key once.
struct RecordedObjects {
    private(set) var all: [ResolvedSegment] = []
    /// Indexes of objects by key.
    private var indexes: [String: Int] = [:]
    /// Bytes of their URLs and keys.
    private(set) var bytes = 0

    var count: Int { all.count }

    /// Adds an object, once; returns its index.
    @discardableResult
    mutating func add(_ object: ResolvedSegment?) -> Int? {
        guard var object else { return nil }
        if let index = indexes[object.key] { return index }
        object.ordinal = all.count
        indexes[object.key] = all.count
        bytes += object.url.utf8.count + object.key.utf8.count
        all.append(object)
        return object.ordinal
    }
}

/// Durations of segments that a reading of an MPD lists, in seconds.
struct ListedDurations {
    /// Nil without any.
    private(set) var shortest: Double?
    private(set) var longest = 0.0
    /// The longest part of a track that is listed here and left to a later reading.
    private(set) var left = 0.0

    mutating func add(_ seconds: Double) {
        shortest = min(shortest ?? seconds, seconds)
        longest = max(longest, seconds)
    }

    mutating func add(left seconds: Double) { left = max(left, seconds) }

    /// The time until the next reload: the minimumUpdatePeriod, or the duration of a segment if they
    /// are added by the clock; half of it if these are listed for less than two segments. Never less,
    /// so that an encoder's pause does not end the recording.
    func waitSeconds(_ manifest: DASHManifest) -> Double {
        let update = manifest.minimumUpdate.map { Double($0) / 1e9 }
        guard let shortest else { return update ?? Self.emptySeconds }
        guard manifest.growsByTime else { return max(update ?? shortest, shortest / 2) }
        let depth = manifest.timeShiftBufferDepth.map { Double($0) / 1e9 }
        let isShort = depth.map { $0 < 2 * shortest } ?? false
        return max(isShort ? 0 : min(update ?? shortest, shortest), shortest / 2)
    }

    /// Time between reloads of an MPD without segments.
    private static let emptySeconds = 5.0
}
