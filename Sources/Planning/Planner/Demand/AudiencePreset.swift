/// Public figures of a service, as inputs of a plan to compare with.
package struct AudiencePreset: Sendable {
    package let name: String
    /// Whose audience it is, and when.
    package let service: String
    package let kind: ServiceKind
    package let values: [ScenarioInput: Double]
    /// Title, date and address of what states the figures.
    package let source: String

    /// By name. All figures are quoted by their sources; none is derived.
    package static let all = [
        AudiencePreset(
            name: "steam-2020", service: "Steam, game downloads and play, 2020",
            kind: .downloads,
            values: [
                .monthlyActiveUsers: 120_400_000, .dailyActiveUsers: 62_600_000,
                .peakConcurrentUsers: 24_800_000,
            ],
            source:
                "PC Gamer, Steam had 120 million monthly users in 2020 (Valve's year in review), "
                + "https://www.pcgamer.com/steam-had-120-million-monthly-users-in-2020/"),
        AudiencePreset(
            name: "hotstar-2018", service: "Hotstar, live cricket, IPL final of 2018",
            kind: .live,
            values: [.dailyActiveUsers: 26_000_000, .peakConcurrentUsers: 10_700_000],
            source: "OfficeChai, Hotstar Nets 10.7 Million Concurrent Users During IPL Final, "
                + "https://officechai.com/stories/"
                + "hotstar-nets-10-7-million-concurrent-users-ipl-final-sets-world-streaming-record/; "
                + "26 million fans of the match: Little India, "
                + "https://littleindia.com/"
                + "cricket-ipl-final-becomes-the-worlds-most-watched-live-online-video-event/amp"),
        AudiencePreset(
            name: "hotstar-2019", service: "Hotstar, live cricket, record of 2019",
            kind: .live,
            values: [.peakConcurrentUsers: 25_300_000],
            source: "The Streaming Lab, Powering Cricket for a Billion, "
                + "https://www.thestreaminglab.com/p/powering-cricket-for-a-billion-how"),
        AudiencePreset(
            name: "jiocinema-2023", service: "JioCinema, live cricket, IPL final of 2023",
            kind: .live,
            values: [.peakConcurrentUsers: 32_000_000],
            source: "The Streaming Lab, Powering Cricket for a Billion, "
                + "https://www.thestreaminglab.com/p/powering-cricket-for-a-billion-how"),
        AudiencePreset(
            name: "netflix-2024", service: "Netflix, live boxing, Tyson and Paul, November 2024",
            kind: .live,
            values: [.peakConcurrentUsers: 65_000_000],
            source: "Netflix by ESPN, quoted by EURweb on 18 November 2024, "
                + "https://eurweb.com/2024/"
                + "netflix-reports-60-million-households-tuned-in-for-paul-tyson-fight/"),
    ]
}
