import Statistics

extension Plan {
    /// An input that the plan was made with.
    package struct InputInUse: Codable, Hashable, Sendable {
        package let path: String
        package let unit: String
        /// Nil for no value, which `source` explains, and for values that are not numbers.
        package let value: Estimate?
        /// A value that is not a number: a ladder, a codec.
        package var text: String?
        package let isAssumed: Bool
        package let source: String
        /// The measurement of a measured input.
        package var measurement: Measurement?
    }

    /// The basis of a measured value.
    package struct Measurement: Codable, Hashable, Sendable {
        /// Number of values, requests or runs.
        package let samples: Int
        /// Bounds of the 95 % confidence interval; nil if unknown, as for one sample.
        package let interval95: [Double]?

        init(_ measured: Measured) {
            samples = measured.count
            interval95 = measured.interval.map { [$0.lowerBound, $0.upperBound] }
        }

        private enum Key: String, CodingKey { case samples, interval95 }

        /// Encodes null without an interval.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(samples, forKey: .samples)
            try container.encode(interval95, forKey: .interval95)
        }
    }

    /// Returns all inputs with their sources: those of the table in its order, then the others.
    static func inputs(_ scenario: Scenario) -> [InputInUse] {
        ScenarioInput.allCases.map { number($0, scenario) } + media(scenario) + actions(scenario)
            + choices(scenario)
    }

    private static func number(_ input: ScenarioInput, _ scenario: Scenario) -> InputInUse {
        let row = input.row
        let isAssumed = scenario.given[input] == nil
        var source = scenario.origins[input] ?? "given"
        if isAssumed {
            let standard = scenario.service.standard(input)
            source = standard.source
            if case .none(let meaning) = standard.standard { source = meaning }
            if let instead = replacement(input, scenario) { source = instead }
        }
        return InputInUse(
            path: row.path, unit: row.unit, value: scenario.estimate(input), isAssumed: isAssumed,
            source: source, measurement: scenario.measured[input].map(Measurement.init))
    }

    /// Describes what replaces an input's default; nil if nothing does.
    private static func replacement(_ input: ScenarioInput, _ scenario: Scenario) -> String? {
        guard scenario.isReplaced(input) else { return nil }
        switch input {
        case .monthlyActiveUsers:
            return scenario.hasUsersByRequests
                ? "calculated from the measured requests"
                : "calculated from the daily or concurrent users"
        case .peakShare:
            if scenario.hasUsersByRequests, scenario.given[.peakToMean] == nil {
                return "from the measured peak of requests"
            }
            return scenario.given[.peakConcurrentUsers] == nil
                ? "by audience.peakToMean" : "by audience.peakConcurrentUsers"
        case .peakToMean:
            return scenario.given[.peakConcurrentUsers] == nil
                ? "by audience.peakShare" : "by audience.peakConcurrentUsers"
        case .dailyActiveShare: return "by audience.dailyActiveUsers"
        case .minutesPerTitle: return "by catalog.gigabytes"
        default: return "no picture is given"
        }
    }

    private static func media(_ scenario: Scenario) -> [InputInUse] {
        let rates = scenario.ladderInUse.map { Scenario.plain(($0 * 10).rounded() / 10) }
        var source = "given"
        if scenario.ladder == nil {
            source = "HLS authoring specification for Apple devices"
            if rates.count > Scenario.appleLadder.count {
                source += ", and media.kilobitsPerSecond"
            }
            if scenario.hasPicture { source = "the picture: the only rendition" }
        }
        var inputs = [
            InputInUse(
                path: "media.ladderKilobitsPerSecond", unit: "kbit/s", value: nil,
                text: rates.joined(separator: ", "), isAssumed: scenario.ladder == nil,
                source: source)
        ]
        if scenario.hasPicture, scenario.given[.compression] == nil {
            let codec = scenario.codec ?? Scenario.standardCodec
            inputs.append(
                InputInUse(
                    path: "media.codec", unit: "", value: nil,
                    text: "\(codec.rawValue): 1/\(Scenario.plain(codec.compression))",
                    isAssumed: scenario.codec == nil,
                    source: scenario.codec == nil ? "assumption" : "given"))
        }
        return inputs
    }

    private static func actions(_ scenario: Scenario) -> [InputInUse] {
        let isAssumed = scenario.actions == nil
        return scenario.actionsInUse.flatMap { action in
            [
                ("perDay", "", action.perDay), ("requests", "", action.requests),
                ("bytes", "B", action.bytes),
            ].map { name, unit, value in
                InputInUse(
                    path: "actions.\(action.name).\(name)", unit: unit, value: value,
                    isAssumed: isAssumed,
                    source: isAssumed ? scenario.service.actionsSource : "given")
            }
        }
    }

    private static func choices(_ scenario: Scenario) -> [InputInUse] {
        let money = scenario.money
        func choice(_ path: String, _ given: String?, _ standard: String) -> InputInUse {
            InputInUse(
                path: path, unit: "", value: nil, text: given ?? standard, isAssumed: given == nil,
                source: given == nil ? "assumption" : "given")
        }
        return [
            choice(
                "onDemand.correction", scenario.correction?.rawValue,
                Scenario.standardCorrection.rawValue),
            choice("money.provider", money.provider, "all, side by side"),
            choice("money.originProvider", money.originProvider, "the same as money.provider"),
        ]
    }
}
