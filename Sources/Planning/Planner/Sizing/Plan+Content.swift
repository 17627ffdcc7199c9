/// Notes on the stored renditions, and on the hit ratio that follows from what is stored.
extension Plan {
    /// Difference between a given and a calculated hit ratio that is worth a note.
    private static let noticeable = 0.02

    static func content(
        _ scenario: Scenario, _ values: ScenarioValues, _ demand: Demand
    ) -> [String] {
        var notes: [String] = []
        let ladder = values.ladder
        if scenario.ladder == nil, scenario.given[.kilobitsPerSecond] != nil, !scenario.hasPicture {
            let added =
                ladder.count > Scenario.appleLadder.count
                ? ", which Apple's ladder lacks: it is stored in addition to that" : ""
            notes.append(
                "Viewers get \(plainRate(values[.kilobitsPerSecond])) kbit/s on average\(added). "
                    + "Storage and fill have all \(ladder.count) renditions, "
                    + "\(plainRate(ladder.reduce(0, +))) kbit/s together; set "
                    + "media.ladderKilobitsPerSecond (--ladder) if others are stored.")
        }
        guard demand.peakRequestsPerSecond > 0 else { return notes }
        guard let given = scenario.given[.hitRatio]?.likely else { return notes }
        var derived = values
        derived[.hitRatio] = .nan
        let calculated = Demand(derived).hitRatio
        if abs(calculated - given) > noticeable {
            notes.append(
                "edge.hitRatio, \(rate(given)), is used as "
                    + (scenario.measured[.hitRatio] == nil ? "given" : "measured")
                    + ", but the other inputs give \(rate(calculated)): the edge stores "
                    + "\(percent(values[.storedShare])) of the titles (edge.storedShare), "
                    + "popularity follows catalog.zipfExponent \(rate(values[.zipfExponent])), and "
                    + "\(percent(values[.changePerDay])) change a day. Omit it to use that.")
        }
        return notes
    }

    private static func plainRate(_ value: Double) -> String {
        Scenario.grouped((value * 10).rounded() / 10)
    }
}
