package import Statistics

/// The input of a plan.
///
/// Every input is optional; `ScenarioInput.table` has the defaults.
package struct Scenario: Sendable {
    package var name = "plan"
    /// Selects the defaults.
    package var service = ServiceKind.vod
    /// The given inputs.
    package var given: [ScenarioInput: Estimate] = [:]
    /// Sources of inputs from outside the scenario: `--calibrate run.json`.
    package var origins: [ScenarioInput: String] = [:]
    /// Measurements of measured inputs.
    package var measured: [ScenarioInput: Measured] = [:]
    /// Measured limits that were not found, each with the most that the server can do: infinite if
    /// no load was too much for it.
    package var lowerBounds: [ScenarioInput: Double] = [:]
    /// Requests per second in each of 24 hours, from an access log.
    package var hourlyRequests: [Double]?
    /// Correction of waits for variation; nil for Kimura's.
    package var correction: WaitingModel.Correction?
    /// Bit rates of the stored renditions, in kbit/s, ascending; nil for Apple's, or for that of a
    /// picture.
    package var ladder: [Double]?
    package var codec: VideoCodec?
    /// Actions of a daily user besides watching; nil for the default.
    package var actions: [UserAction]?
    package var money = MoneyChoice()
    /// Clusters that fetch equal parts of what the sites lack; a plan is that of one of them.
    var clusters = 1

    package init() {}

    /// An action of users besides watching.
    package struct UserAction: Hashable, Sendable, Codable {
        package var name: String
        /// Times per daily user.
        package var perDay: Estimate
        /// Requests to the edge per action.
        package var requests: Estimate
        /// Bytes fetched per action.
        package var bytes: Estimate

        package init(name: String, perDay: Estimate, requests: Estimate, bytes: Estimate) {
            self.name = name
            self.perDay = perDay
            self.requests = requests
            self.bytes = bytes
        }
    }

    /// The providers for prices, and exchange rates.
    package struct MoneyChoice: Hashable, Sendable, Codable {
        /// Provider of workers, coordinators, database and edge; nil to compare all.
        package var provider: String?
        /// Provider of the origin; nil for the same.
        package var originProvider: String?
        /// Currency of totals; nil keeps each amount in its own.
        package var currency: String?
        /// Value of one unit of a currency in `currency`.
        package var exchange: [String: Double] = [:]
        /// Date of the rates; nil if none are needed.
        package var exchangeDate: String?
        /// Source of the rates; nil for given ones.
        package var exchangeSource: String?

        package init() {}
    }

    /// Opening the application and browsing.
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

    package var actionsInUse: [UserAction] { actions ?? service.actions }

    /// Bit rates of the stored renditions, in kbit/s: the ladder, a picture's, or Apple's.
    package var ladderInUse: [Double] { ladder { estimate($0)?.likely } }

    /// Returns the same with the input values of `number`.
    func ladder(_ number: (ScenarioInput) -> Double?) -> [Double] {
        if let ladder { return ladder }
        if hasPicture, let width = number(.width), let height = number(.height) {
            let uncompressed =
                width * height * (number(.bitsPerPixel) ?? 24) * (number(.framesPerSecond) ?? 25)
            let compression =
                number(.compression) ?? (codec ?? Self.standardCodec).compression
            return [uncompressed / compression / 1_000]
        }
        // Viewers cannot play a rate that is not stored.
        guard given[.kilobitsPerSecond] != nil, let played = number(.kilobitsPerSecond),
            let lowest = Self.appleLadder.first, let highest = Self.appleLadder.last
        else { return Self.appleLadder }
        if played < lowest { return [played] + Self.appleLadder }
        return played > highest ? Self.appleLadder + [played] : Self.appleLadder
    }

    /// Returns the given value of an input or its default; nil if it has none.
    package func estimate(_ input: ScenarioInput) -> Estimate? {
        if let known = given[input] { return known }
        if input == .kilobitsPerSecond { return deliveredRate }
        if isReplaced(input) { return nil }
        if case .value(let standard) = service.standard(input).standard { return standard }
        return nil
    }

    /// Returns true if other given inputs replace this input's default.
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
            return (isGiven(.peakToMean) || hasUsersByRequests) && isWatched
        case .peakToMean: return hasPeakOfViewers
        case .minutesPerTitle: return isGiven(.catalogGigabytes) || service == .downloads
        case .framesPerSecond, .bitsPerPixel: return !hasPicture
        default: return false
        }
    }

    /// True if requests but no users were given: users are calculated from requests.
    var hasUsersByRequests: Bool {
        let users: [ScenarioInput] = [
            .monthlyActiveUsers, .dailyActiveUsers, .peakConcurrentUsers,
        ]
        return (given[.meanRequests] != nil || given[.peakRequests] != nil)
            && users.allSatisfy { given[$0] == nil }
    }

    private var isWatched: Bool { (estimate(.minutesPerDay)?.likely ?? 0) > 0 }

    /// True if the peak of viewers is a number or a share of its own, from which the peak over the
    /// mean follows.
    private var hasPeakOfViewers: Bool {
        guard isWatched else { return false }
        if given[.peakShare] != nil { return true }
        if given[.peakConcurrentUsers] != nil {
            return given[.dailyActiveUsers] != nil || given[.monthlyActiveUsers] != nil
        }
        return service == .live && !hasUsersByRequests
    }

    /// Peak load over the day's mean, given, assumed, or from the peak of viewers.
    package var peakOverMean: Estimate {
        if let known = estimate(.peakToMean) { return known }
        let demand = Demand(ScenarioValues(self))
        return Estimate(demand.peakOverMean)
    }

    var hasPicture: Bool { given[.width] != nil && given[.height] != nil }

    package static let standardCorrection = WaitingModel.Correction.kimura
    package static let standardCodec = VideoCodec.h264

    /// Mean bit rate of viewers: the mean of the ladder's upper half; at least the mean of all of
    /// it, at most its top.
    private var deliveredRate: Estimate {
        let rates = ladderInUse
        let upper = rates.suffix((rates.count + 1) / 2)
        return Estimate(
            low: rates.reduce(0, +) / Double(rates.count),
            likely: upper.reduce(0, +) / Double(upper.count), high: rates.last ?? 0)
    }
}

/// Video codecs.
package enum VideoCodec: String, CaseIterable, Codable, Sendable {
    case raw, h264, hevc, vp9, av1

    /// Uncompressed (24 bits per pixel) over coded bit rate.
    ///
    /// H.264: Apple's ladder has 6,000 kbit/s for 1920 × 1080 at 30 frames per second, which is
    /// 1/249. HEVC half of H.264 (Ohm et al., IEEE TCSVT 22, 2012), VP9 the same, AV1 two thirds of
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

/// One value per input: the basis of a calculation.
package struct ScenarioValues: Sendable {
    package let service: ServiceKind
    /// By the input's number; NaN for none.
    private var numbers: [Double]
    /// Requests and bytes per day and user of actions besides watching, summed over all actions.
    package var actionRequestsPerDay: Double
    package var actionBytesPerDay: Double
    /// In kbit/s, ascending.
    package let ladder: [Double]
    package let correction: WaitingModel.Correction
    /// Distribution of requests over 24 hours, if measured.
    package let hourlyShape: [Double]?
    /// Clusters that share the fetches and the origin's limits.
    var clusters: Int

    /// Smaller values count as 0: they change no plan, and division by them overflows.
    package static let negligible = 1e-15

    private static func counted(_ value: Double) -> Double {
        abs(value) < negligible ? 0 : value
    }

    /// The likely values.
    package init(_ scenario: Scenario) { self.init(scenario) { $0.likely } }

    /// Selects a value of each estimate by `choose`, in the order of the inputs, then of the
    /// actions.
    package init(_ scenario: Scenario, choose: (Estimate) -> Double) {
        self.init(scenario) { _, estimate in choose(estimate) }
    }

    /// Selects a value of each estimate by `choose`, in the same order; actions have no input.
    init(_ scenario: Scenario, choose: (ScenarioInput?, Estimate) -> Double) {
        service = scenario.service
        numbers = ScenarioInput.allCases.map { input in
            guard let estimate = scenario.estimate(input) else { return .nan }
            let value = Self.counted(choose(input, estimate))
            return input.row.isWhole ? value.rounded() : value
        }
        actionRequestsPerDay = 0
        actionBytesPerDay = 0
        for action in scenario.actionsInUse {
            let times = Self.counted(choose(nil, action.perDay))
            actionRequestsPerDay += times * Self.counted(choose(nil, action.requests))
            actionBytesPerDay += times * Self.counted(choose(nil, action.bytes))
        }
        let drawn = numbers
        ladder = scenario.ladder { input in
            let value = drawn[input.rawValue]
            return value.isNaN ? nil : value
        }
        // Viewers get the bit rate of the picture, as drawn.
        if scenario.hasPicture, scenario.ladder == nil, scenario.given[.kilobitsPerSecond] == nil,
            let only = ladder.first
        {
            numbers[ScenarioInput.kilobitsPerSecond.rawValue] = only
        }
        correction = scenario.correction ?? Scenario.standardCorrection
        clusters = scenario.clusters
        hourlyShape = scenario.hourlyRequests.flatMap { rates in
            rates.count == 24 && rates.contains { $0 > 0 } ? rates : nil
        }
    }

    /// The value of an input that always has one.
    package subscript(_ input: ScenarioInput) -> Double {
        get { numbers[input.rawValue] }
        set { numbers[input.rawValue] = newValue }
    }

    /// Returns the value of an input that may have none.
    package func known(_ input: ScenarioInput) -> Double? {
        let value = numbers[input.rawValue]
        return value.isNaN ? nil : value
    }

    /// Returns a cluster's part of an origin's limit; nil without the limit.
    func quota(_ input: ScenarioInput) -> Double? { known(input).map { $0 / Double(clusters) } }
}
