/// The kind of a service: it selects the defaults of a plan.
package enum ServiceKind: String, CaseIterable, Codable, Sendable {
    /// Titles on demand.
    case vod
    /// Events and channels, watched while they happen.
    case live
    /// Files, such as games and updates.
    case downloads

    /// The default of an input, and its source.
    package struct Default: Hashable, Sendable {
        package let standard: ScenarioInput.Standard
        package let source: String

        package init(standard: ScenarioInput.Standard, source: String) {
            self.standard = standard
            self.source = source
        }
    }

    /// The meaning, one line.
    package var help: String {
        switch self {
        case .vod: "titles on demand"
        case .live: "events and channels, watched while they happen"
        case .downloads: "files, such as games and updates"
        }
    }

    /// Returns the default of an input for this kind.
    package func standard(_ input: ScenarioInput) -> Default {
        let own: Default? =
            switch self {
            case .vod: nil
            case .live: Self.liveDefaults[input]
            case .downloads: Self.downloadDefaults[input]
            }
        return own ?? Default(standard: input.row.standard, source: input.row.source)
    }

    /// Actions of a daily user besides watching.
    package var actions: [Scenario.UserAction] {
        switch self {
        case .vod, .live: Scenario.standardActions
        case .downloads:
            [
                Scenario.UserAction(
                    name: "download", perDay: Estimate(1),
                    requests: Estimate(low: 300, likely: 1_100, high: 3_000),
                    bytes: Estimate(low: 3e8, likely: 1.1e9, high: 3e9))
            ]
        }
    }

    /// The source of these actions.
    package var actionsSource: String {
        switch self {
        case .vod, .live: "assumption"
        case .downloads:
            "Steam 2020: 25.2 EB a year for 62.6 million daily users, 1.1 GB each; ranges of 1 MB "
                + "and the spread assumed"
        }
    }

    private static func range(
        _ low: Double, _ likely: Double, _ high: Double, _ source: String = "assumption"
    ) -> Default {
        Default(
            standard: .value(Estimate(low: low, likely: likely, high: high)), source: source)
    }

    private static let liveDefaults: [ScenarioInput: Default] = [
        .peakShare: range(
            0.156, 0.25, 0.41,
            "Hotstar, World Cup 2019: 15.6 of 100 million daily users (India v Pakistan), 25.3 of "
                + "over 100 million (India v New Zealand). NOS, World Cup 2010: 0.12 of 0.5 million. "
                + "Hotstar, IPL final 2018: 10.7 of 26 million"),
        .minutesPerDay: range(
            30, 60, 150, "assumption: public figures of live events are of the peak only"),
        .titles: range(1, 1, 4),
        .minutesPerTitle: range(90, 180, 240),
        .changePerDay: range(0, 0, 0, "a live segment is fetched when it appears, not at night"),
        .catalogGrowth: range(0, 0, 0),
    ]

    private static let downloadDefaults: [ScenarioInput: Default] = [
        .minutesPerDay: range(0, 0, 0, "nothing is watched"),
        .catalogGigabytes: range(
            500, 5_000, 50_000, "assumption: public figures of downloads are of bytes per user only"
        ),
        .fillSegmentBytes: range(1e6, 16e6, 64e6),
    ]
}
