/// A waiting transfer and the origin for which it waits.
struct Waiting {
    var transfer: Transfer
    var origin: OriginState
    /// Set for a transfer that started before and resumes here.
    var route: Route?
}

/// The waiting transfers of one origin.
struct WaitingLines {
    /// Transfers that were skipped because of this origin; later ones of other origins start first.
    var skipped = WaitingQueue()
    /// Transfers that were stopped for being slow; they start in slow slots only.
    var stopped = WaitingQueue()
    /// Waiting transfers, in these lines and in the engine's common queue.
    var pending = 0

    var isEmpty: Bool { skipped.isEmpty && stopped.isEmpty }

    // All transfers of a slow origin wait for slow slots.

    func slowCount(isSlow: Bool) -> Int { stopped.count + (isSlow ? skipped.count : 0) }

    /// Returns the next transfer for a slow slot; stopped ones come first. One that must not be
    /// stopped again gets no slot that others may need back.
    func firstSlow(isSlow: Bool, guaranteed: Bool) -> Waiting? {
        if let first = stopped.first, guaranteed || first.route?.mayStop != false { return first }
        return isSlow ? skipped.first : nil
    }

    mutating func popFirstSlow(isSlow: Bool, guaranteed: Bool) -> Waiting? {
        if let first = stopped.first, guaranteed || first.route?.mayStop != false {
            return stopped.popFirst()
        }
        return isSlow ? skipped.popFirst() : nil
    }

    /// Removes and returns the last transfer that waits for a slow slot.
    mutating func popLastSlow(isSlow: Bool) -> Waiting? {
        if isSlow, let last = skipped.popLast() { return last }
        return stopped.popLast()
    }

    mutating func remove(_ matches: (Waiting) -> Bool) -> [Waiting] {
        skipped.remove(where: matches) + stopped.remove(where: matches)
    }
}
