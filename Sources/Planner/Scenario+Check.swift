extension Scenario {
    /// Throws what no plan can be made of: values out of range, and values that cannot all hold.
    package func check() throws(PlannerError) {
        for input in ScenarioInput.allCases {
            if let estimate = given[input] { try Self.check(estimate, input) }
        }
        try checkAudience()
        try checkMedia()
        try checkTimes()
        try checkMoney()
    }

    /// Rates say what other currencies are worth in one, which has to be named.
    private func checkMoney() throws(PlannerError) {
        guard !money.exchange.isEmpty else { return }
        guard let currency = money.currency else {
            throw PlannerError(
                field: "money.exchange", given: "without money.currency",
                allowed: "name the currency that the rates lead to")
        }
        if let own = money.exchange[currency], own != 1 {
            throw PlannerError(
                field: "money.exchange.\(currency)", given: Self.plain(own),
                allowed: "leave it out: money.currency is \(currency)")
        }
    }

    /// Throws when `estimate` is nothing that `input` can be.
    package static func check(
        _ estimate: Estimate, _ input: ScenarioInput
    ) throws(PlannerError) {
        let row = input.row
        try check(
            estimate, row.path, allowed: row.allowed, isWhole: row.isWhole, unit: row.unit)
    }

    package static func check(
        _ estimate: Estimate, _ path: String, allowed: ClosedRange<Double>, isWhole: Bool = false,
        unit: String = ""
    ) throws(PlannerError) {
        let kind = isWhole ? "a whole number" : "a number"
        let range = "\(plain(allowed.lowerBound)) to \(plain(allowed.upperBound))"
        let parts = [("low", estimate.low), ("likely", estimate.likely), ("high", estimate.high)]
        for (part, value) in parts {
            let isRight =
                allowed.contains(value)
                && (!isWhole || value == value.rounded() || part != "likely")
            guard isRight else {
                throw PlannerError(
                    field: estimate.isExact ? path : "\(path).\(part)", given: plain(value),
                    allowed: "use \(kind) from \(range)\(unit.isEmpty ? "" : " \(unit)")")
            }
        }
        guard estimate.low <= estimate.likely, estimate.likely <= estimate.high else {
            throw PlannerError(
                field: path,
                given: "low \(plain(estimate.low)), likely \(plain(estimate.likely)), "
                    + "high \(plain(estimate.high))",
                allowed: "use low ≤ likely ≤ high")
        }
    }

    /// Peaks that conflict with who is there to make them.
    private func checkAudience() throws(PlannerError) {
        let monthly = given[.monthlyActiveUsers]?.likely
        let daily = given[.dailyActiveUsers]?.likely
        let peak = given[.peakConcurrentUsers]?.likely
        if let monthly, let daily, daily > monthly {
            throw conflict(.dailyActiveUsers, daily, atMost: monthly, .monthlyActiveUsers)
        }
        if daily != nil, given[.dailyActiveShare] != nil, let monthly, let daily {
            try agree(
                .dailyActiveUsers, daily, monthly * value(.dailyActiveShare), .dailyActiveShare)
        }
        guard let peak else { return }
        if let most = daily ?? monthly, peak > most {
            throw conflict(
                .peakConcurrentUsers, peak, atMost: most,
                daily == nil ? .monthlyActiveUsers : .dailyActiveUsers)
        }
        let day = daily ?? monthly.map { $0 * value(.dailyActiveShare) }
        if given[.peakShare] != nil, let day {
            try agree(.peakConcurrentUsers, peak, day * value(.peakShare), .peakShare)
        }
        if let minutes = given[.minutesPerDay]?.likely, let daily, peak < daily * minutes / 1_440 {
            throw PlannerError(
                field: ScenarioInput.peakConcurrentUsers.row.path, given: Self.plain(peak),
                allowed: "use at least \(Self.plain((daily * minutes / 1_440).rounded(.up))): "
                    + "so many watch on average, by viewing.minutesPerDay and "
                    + "audience.dailyActiveUsers")
        }
    }

    private func conflict(
        _ input: ScenarioInput, _ value: Double, atMost most: Double, _ other: ScenarioInput
    ) -> PlannerError {
        PlannerError(
            field: input.row.path, given: Self.plain(value),
            allowed: "use at most \(Self.plain(most)), which is \(other.row.path)")
    }

    /// Two inputs say the same; they may differ by what rounding does.
    private func agree(
        _ input: ScenarioInput, _ value: Double, _ implied: Double, _ other: ScenarioInput
    ) throws(PlannerError) {
        guard abs(value - implied) > 0.01 * max(value, implied) else { return }
        throw PlannerError(
            field: input.row.path, given: Self.plain(value),
            allowed: "leave it or \(other.row.path) out: that comes to "
                + Self.plain(implied.rounded()))
    }

    private func value(_ input: ScenarioInput) -> Double { estimate(input)?.likely ?? 0 }

    private func checkMedia() throws(PlannerError) {
        let isPicture = given[.width] != nil || given[.height] != nil
        if (given[.width] == nil) != (given[.height] == nil) {
            let missing: ScenarioInput = given[.width] == nil ? .width : .height
            throw PlannerError(
                field: missing.row.path, given: "missing",
                allowed: "give media.width and media.height, or neither")
        }
        if isPicture, ladder != nil {
            throw PlannerError(
                field: "media.ladderKilobitsPerSecond", given: "there beside media.width",
                allowed: "give the ladder or the picture")
        }
        if isPicture, given[.kilobitsPerSecond] != nil {
            throw PlannerError(
                field: "media.kilobitsPerSecond", given: "there beside media.width",
                allowed: "give the bit rate or the picture")
        }
        if codec != nil, given[.compression] != nil {
            throw PlannerError(
                field: "media.codec", given: "there beside media.compression",
                allowed: "give one of them")
        }
    }

    private func checkTimes() throws(PlannerError) {
        if let mean = given[.meanRequests]?.likely, let peak = given[.peakRequests]?.likely,
            peak < mean
        {
            throw PlannerError(
                field: "edge.peakRequestsPerSecond", given: Self.plain(peak),
                allowed: "use at least \(Self.plain(mean)), which is edge.meanRequestsPerSecond")
        }
        let window = value(.deadlineHours) * 3_600
        if value(.bootSeconds) >= window {
            throw PlannerError(
                field: "fill.deadlineHours", given: Self.plain(value(.deadlineHours)),
                allowed: "use more than worker.bootSeconds, which is "
                    + Self.plain(value(.bootSeconds)))
        }
        if value(.dispatchSeconds) >= value(.waitSeconds) {
            throw PlannerError(
                field: "onDemand.waitSeconds", given: Self.plain(value(.waitSeconds)),
                allowed: "use more than onDemand.dispatchSeconds, which is "
                    + Self.plain(value(.dispatchSeconds)))
        }
    }

    /// A number as one writes it: `1000`, `0.05`.
    package static func plain(_ value: Double) -> String {
        guard value.isFinite, value == value.rounded(), abs(value) < 1e15 else { return "\(value)" }
        return String(Int(value))
    }
}
