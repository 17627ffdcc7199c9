package import Statistics

/// The input of a plan.
///
/// Every input may be missing; `ScenarioInput.table` has what stands in for it then.
package struct Scenario: Sendable {
    package var name = "plan"
    /// What is known; nothing else stands in a scenario.
    package var given: [ScenarioInput: Estimate] = [:]
    /// Where an input came from that is not from the scenario itself: `--calibrate run.json`.
    package var origins: [ScenarioInput: String] = [:]
    /// What was measured of those that were.
    package var measured: [ScenarioInput: Measured] = [:]
    /// Requests a second in each of 24 hours, where an access log tells them.
    package var hourlyRequests: [Double]?
    /// How waits are corrected for variation; nil for Kimura's.
    package var correction: WaitingModel.Correction?
    /// Bit rates of the renditions, in kbit/s, ascending; nil for Apple's, or that of a picture.
    package var ladder: [Double]?
    package var codec: VideoCodec?
    /// What a day's user does besides watching; nil for the standard.
    package var actions: [UserAction]?
    package var money = MoneyChoice()

    package init() {}

    /// Something users do besides watching.
    package struct UserAction: Hashable, Sendable, Codable {
        package var name: String
        /// How often a day's user does it.
        package var perDay: Estimate
        /// Requests that it makes of the edge each time.
        package var requests: Estimate
        /// Bytes that it fetches each time.
        package var bytes: Estimate

        package init(name: String, perDay: Estimate, requests: Estimate, bytes: Estimate) {
            self.name = name
            self.perDay = perDay
            self.requests = requests
            self.bytes = bytes
        }
    }

    /// Whose prices count, and what one currency is worth in another.
    package struct MoneyChoice: Hashable, Sendable, Codable {
        /// Who runs workers, coordinators, database and edge; nil to compare all there are.
        package var provider: String?
        /// Who runs the origin; nil for the same.
        package var originProvider: String?
        /// The currency to give sums in; nil leaves each amount in its own.
        package var currency: String?
        /// What one unit of a currency is worth in `currency`.
        package var exchange: [String: Double] = [:]
        /// When those rates held; nil where none are needed.
        package var exchangeDate: String?

        package init() {}
    }

    /// Opening the application and looking for something to watch.
    package static let standardActions = [
        UserAction(
            name: "browse", perDay: Estimate(low: 1, likely: 2, high: 5),
            requests: Estimate(low: 10, likely: 30, high: 60),
            bytes: Estimate(low: 500_000, likely: 2_000_000, high: 5_000_000))
    ]

    /// Apple's ladder, in kbit/s (HLS authoring specification for Apple devices).
    package static let appleLadder: [Double] = [
        145, 365, 730, 1_100, 2_000, 3_000, 4_500, 6_000, 7_800,
    ]

    package var actionsInUse: [UserAction] { actions ?? Self.standardActions }

    /// The bit rates of the renditions in use, in kbit/s: the ladder, a picture's, the only bit rate
    /// there is, or Apple's.
    package var ladderInUse: [Double] { ladder { estimate($0)?.likely } }

    /// The same, of the values that `number` has of the inputs that make it.
    func ladder(_ number: (ScenarioInput) -> Double?) -> [Double] {
        if let ladder { return ladder }
        if hasPicture, let width = number(.width), let height = number(.height) {
            let uncompressed =
                width * height * (number(.bitsPerPixel) ?? 24) * (number(.framesPerSecond) ?? 25)
            let compression =
                number(.compression) ?? (codec ?? Self.standardCodec).compression
            return [uncompressed / compression / 1_000]
        }
        if given[.kilobitsPerSecond] != nil, let only = number(.kilobitsPerSecond) { return [only] }
        return Self.appleLadder
    }

    /// What holds for an input: what is given, else what stands in; nil when that is nothing.
    package func estimate(_ input: ScenarioInput) -> Estimate? {
        if let known = given[input] { return known }
        if input == .kilobitsPerSecond { return deliveredRate }
        if isReplaced(input) { return nil }
        if case .value(let standard) = input.row.standard { return standard }
        return nil
    }

    /// What is known of others makes this input's standard value be of no use.
    func isReplaced(_ input: ScenarioInput) -> Bool {
        func isGiven(_ input: ScenarioInput) -> Bool { given[input] != nil }
        if isGiven(input) { return false }
        switch input {
        case .monthlyActiveUsers:
            return isGiven(.dailyActiveUsers) || isGiven(.peakConcurrentUsers)
                || hasUsersByRequests
        case .dailyActiveShare: return isGiven(.dailyActiveUsers) && isGiven(.monthlyActiveUsers)
        case .peakShare:
            if isGiven(.peakConcurrentUsers) {
                return isGiven(.dailyActiveUsers) || isGiven(.monthlyActiveUsers)
            }
            let minutes = estimate(.minutesPerDay)?.likely ?? 0
            return (isGiven(.peakToMean) || hasUsersByRequests) && minutes > 0
        case .titles, .minutesPerTitle: return isGiven(.catalogGigabytes)
        case .framesPerSecond, .bitsPerPixel: return !hasPicture
        default: return false
        }
    }

    /// Requests were counted and users were not: they are reckoned back.
    var hasUsersByRequests: Bool {
        let users: [ScenarioInput] = [
            .monthlyActiveUsers, .dailyActiveUsers, .peakConcurrentUsers,
        ]
        return (given[.meanRequests] != nil || given[.peakRequests] != nil)
            && users.allSatisfy { given[$0] == nil }
    }

    var hasPicture: Bool { given[.width] != nil && given[.height] != nil }

    package static let standardCorrection = WaitingModel.Correction.kimura
    package static let standardCodec = VideoCodec.h264

    /// What viewers get of the ladder: the mean of its upper half; at least the mean of all of it, at
    /// most its top.
    private var deliveredRate: Estimate {
        let rates = ladderInUse
        let upper = rates.suffix((rates.count + 1) / 2)
        return Estimate(
            low: rates.reduce(0, +) / Double(rates.count),
            likely: upper.reduce(0, +) / Double(upper.count), high: rates.last ?? 0)
    }
}

/// How pictures are coded.
package enum VideoCodec: String, CaseIterable, Codable, Sendable {
    case raw, h264, hevc, vp9, av1

    /// Uncompressed (24 bits a pixel) over coded bit rate.
    ///
    /// H.264: Apple's ladder has 6,000 kbit/s for 1920 × 1080 at 30 frames a second, which is 1/249.
    /// HEVC half of H.264 (Ohm et al., IEEE TCSVT 22, 2012), VP9 taken like it, AV1 two thirds of
    /// that: both assumed.
    package var compression: Double {
        switch self {
        case .raw: 1
        case .h264: 249
        case .hevc, .vp9: 498
        case .av1: 747
        }
    }
}

/// One value for every input: what a plan is reckoned from.
package struct ScenarioValues: Sendable {
    /// By the input's number; NaN for none.
    private var numbers: [Double]
    /// Times a day, requests and bytes of what users do besides watching, each summed over all.
    package var actionRequestsPerDay: Double
    package var actionBytesPerDay: Double
    /// In kbit/s, ascending.
    package let ladder: [Double]
    package let correction: WaitingModel.Correction
    /// How requests are spread over 24 hours, where that was counted.
    package let hourlyShape: [Double]?

    /// What is nearer to 0 counts as 0: no plan differs by it, and what is divided by it has no end.
    package static let negligible = 1e-15

    private static func counted(_ value: Double) -> Double {
        abs(value) < negligible ? 0 : value
    }

    /// The likely values.
    package init(_ scenario: Scenario) { self.init(scenario) { $0.likely } }

    /// Values that `choose` takes of each estimate, in the order of the inputs, then of the actions.
    package init(_ scenario: Scenario, choose: (Estimate) -> Double) {
        numbers = ScenarioInput.allCases.map { input in
            guard let estimate = scenario.estimate(input) else { return .nan }
            let value = Self.counted(choose(estimate))
            return input.row.isWhole ? value.rounded() : value
        }
        actionRequestsPerDay = 0
        actionBytesPerDay = 0
        for action in scenario.actionsInUse {
            let times = Self.counted(choose(action.perDay))
            actionRequestsPerDay += times * Self.counted(choose(action.requests))
            actionBytesPerDay += times * Self.counted(choose(action.bytes))
        }
        let drawn = numbers
        ladder = scenario.ladder { input in
            let value = drawn[input.rawValue]
            return value.isNaN ? nil : value
        }
        // What viewers get of a picture is its bit rate, as it was drawn.
        if scenario.hasPicture, scenario.ladder == nil, scenario.given[.kilobitsPerSecond] == nil,
            let only = ladder.first
        {
            numbers[ScenarioInput.kilobitsPerSecond.rawValue] = only
        }
        correction = scenario.correction ?? Scenario.standardCorrection
        hourlyShape = scenario.hourlyRequests.flatMap { rates in
            rates.count == 24 && rates.contains { $0 > 0 } ? rates : nil
        }
    }

    /// The value of an input that always has one.
    package subscript(_ input: ScenarioInput) -> Double {
        get { numbers[input.rawValue] }
        set { numbers[input.rawValue] = newValue }
    }

    /// The value of an input that may have none.
    package func known(_ input: ScenarioInput) -> Double? {
        let value = numbers[input.rawValue]
        return value.isNaN ? nil : value
    }
}
