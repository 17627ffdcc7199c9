internal import LoadModel

/// The viewers of a loop: those that play, what the next one is like, and the totals of those that ended.
struct LoopViewers {
    /// Maximum number of concurrent viewers of the open model.
    let capacity: Int
    private(set) var playing: [ViewerSlot] = []
    private var mix: ViewerMix
    /// Totals of ended viewers by class.
    private(set) var classes: [ViewerTotals]
    /// Nil before the start, and without live titles.
    var live: LoopLive?

    /// - Parameter shard: the loop's part of the whole test.
    init(_ plan: LoadPlan, _ scenario: LoadScenario, _ shard: LoadShard, capacity: Int) {
        self.capacity = capacity
        var classes: [ViewerClass] = []
        if case .viewers(let settings) = scenario.user { classes = settings.classes }
        self.classes = Array(repeating: ViewerTotals(), count: classes.count)
        mix = ViewerMix(classes, data: plan.viewerData, shard: shard, seed: scenario.seed)
    }

    var count: Int { playing.count }
    var isFull: Bool { playing.count >= capacity }

    /// Returns the traits of the next viewer.
    mutating func nextTraits() -> ViewerTraits { mix.next() }

    mutating func add(_ slot: ViewerSlot) {
        slot.index = playing.count
        playing.append(slot)
    }

    mutating func remove(_ slot: ViewerSlot) {
        let last = playing.removeLast()
        if last !== slot {
            playing[slot.index] = last
            last.index = slot.index
        }
        slot.index = -1
    }

    /// Adds the totals of an ended viewer.
    mutating func add(_ totals: ViewerTotals, ofClass type: Int) { classes[type].add(totals) }
}
