internal import LoadModel

/// Chooses targets at random by their weights, and their objects in rotation.
struct TargetRotation {
    private var picker: TargetPicker
    /// By target: offset of its next object.
    private var cursors: [Int32]

    init(_ plan: LoadPlan, _ scenario: LoadScenario, _ shard: LoadShard) {
        picker = TargetPicker(
            weights: plan.targets.map(\.weight), popularity: scenario.popularity, shard: shard,
            seed: scenario.seed)
        // Shards start at different objects, so that they do not request the same one at the same
        // time.
        cursors = plan.targets.map { Int32($0.objects.count * shard.index / shard.count) }
    }

    /// Returns the index of the next target.
    mutating func next() -> Int { picker.next() }

    /// Returns the next object of a target with these `objects`.
    mutating func nextObject(of target: Int, _ objects: Range<Int>) -> Int {
        let cursor = Int(cursors[target])
        cursors[target] = Int32(cursor + 1 < objects.count ? cursor + 1 : 0)
        return objects.lowerBound + cursor
    }
}
