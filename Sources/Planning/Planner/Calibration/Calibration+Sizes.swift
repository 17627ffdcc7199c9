extension Calibration {
    /// Factor between sizes from which on a speed is a guess.
    private static let farFactor = 10.0

    /// Notes that the fetches of the plan are much larger or smaller than the measured ones; empty
    /// if they are not.
    package func sizeNotes(_ values: ScenarioValues) -> [String] {
        let demand = Demand(values)
        var planned: [Double] = []
        if demand.fillSegmentsPerDay >= 1 { planned.append(demand.fillSegmentBytes) }
        if demand.peakMissesPerSecond > 0 { planned.append(demand.missBytes) }
        guard let least = sizes.min(), let most = sizes.max(), least > 0 else { return [] }
        func apart(_ size: Double) -> Double { max(size / most, least / max(1, size)) }
        guard let far = planned.max(by: { apart($0) < apart($1) }), apart(far) >= Self.farFactor
        else { return [] }
        let measured =
            least == most
            ? ShortText.bytes(least)
            : "\(ShortText.bytes(least)) to \(ShortText.bytes(most))"
        let factor = Scenario.grouped(apart(far).rounded())
        return [
            "Extrapolated to sizes that were not measured: the measured segments have "
                + "\(measured), the plan's \(ShortText.bytes(far)), "
                + (far > most ? "\(factor) times as much" : "1/\(factor) of that")
                + ". Measure with segments of the plan's size."
        ]
    }
}
