/// The progress of a search through the jobs of lanes: a value.
struct LaneSearch {
    /// The last lane of the previous pass; 0 if it was the last of all.
    var lastLane: Int64 = 0
    /// By lane, the job after which the next pass begins; no entry for the start of a lane.
    private var places: [Int64: Int64] = [:]

    /// Maximum number of remembered lanes; beyond it, all are read from their start.
    private static let maxLanes = 10_000

    func place(in lane: Int64) -> Int64 { places[lane] ?? 0 }

    mutating func set(_ place: Int64, in lane: Int64) {
        if places.count >= Self.maxLanes { places = [:] }
        places[lane] = place > 0 ? place : nil
    }
}
