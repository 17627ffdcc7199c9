/// The progress of a search through the jobs of lanes: a value.
struct LaneSearch {
    /// The last lane of the previous pass; 0 if it was the last of all.
    var lastLane: Int64 = 0
    /// By lane, the job after which the next pass begins; no entry for the start of a lane.
    private var positions: [Int64: Int64] = [:]

    /// Maximum number of remembered lanes; beyond it, all are read from their start.
    private static let maxLanes = 10_000

    func position(in lane: Int64) -> Int64 { positions[lane] ?? 0 }

    mutating func set(_ position: Int64, in lane: Int64) {
        if positions.count >= Self.maxLanes { positions = [:] }
        positions[lane] = position > 0 ? position : nil
    }
}
