extension Scenario {
    /// Throws for values out of range and for contradictory values.
    package func check() throws(PlannerError) {
        for input in ScenarioInput.allCases {
            if let estimate = given[input] { try Self.check(estimate, input) }
        }
        try checkAudience()
        try checkMedia()
        try checkTimes()
        try checkMoney()
    }

    /// Throws for exchange rates without a target currency.
    private func checkMoney() throws(PlannerError) {
        guard !money.exchange.isEmpty else { return }
        guard let currency = money.currency else {
            throw PlannerError(
                field: "money.exchange", given: "without money.currency",
                allowed: "set the currency to convert to")
        }
        if let own = money.exchange[currency], own != 1 {
            throw PlannerError(
                field: "money.exchange.\(currency)", given: Self.plain(own),
                allowed: "omit it: money.currency is \(currency)")
        }
    }

    /// Throws if `estimate` is not valid for `input`.
    package static func check(
        _ estimate: Estimate, _ input: ScenarioInput
    ) throws(PlannerError) {
        let row = input.row
        do throws(EstimateError) {
            try check(
                estimate, row.path, allowed: row.allowed, isWhole: row.isWhole, unit: row.unit)
        } catch {
            throw PlannerError(
                field: error.field, given: error.given, allowed: "use \(error.allowed)")
        }
    }

    /// An estimate that a field must not have: the given and the allowed numbers.
    package struct EstimateError: Error {
        package let field: String
        package let given: String
        /// The allowed numbers, such as `a number from 0 to 1`.
        package let allowed: String
    }

    package static func check(
        _ estimate: Estimate, _ path: String, allowed: ClosedRange<Double>, isWhole: Bool = false,
        unit: String = ""
    ) throws(EstimateError) {
        let kind = isWhole ? "a whole number" : "a number"
        let suffix = unit == "1/s" ? " per second" : unit.isEmpty ? "" : " \(unit)"
        let range = "\(plain(allowed.lowerBound)) to \(plain(allowed.upperBound))"
        let parts = [("low", estimate.low), ("likely", estimate.likely), ("high", estimate.high)]
        for (part, value) in parts {
            let isRight =
                allowed.contains(value)
                && (!isWhole || value == value.rounded() || part != "likely")
            guard isRight else {
                throw EstimateError(
                    field: estimate.isExact ? path : "\(path).\(part)", given: plain(value),
                    allowed: "\(kind) from \(range)\(suffix)")
            }
        }
        guard estimate.low <= estimate.likely, estimate.likely <= estimate.high else {
            throw EstimateError(
                field: path,
                given: "low \(plain(estimate.low)), likely \(plain(estimate.likely)), "
                    + "high \(plain(estimate.high))",
                allowed: "low ≤ likely ≤ high")
        }
    }

    func conflict(
        _ input: ScenarioInput, _ value: Double, atMost most: Double, _ other: ScenarioInput
    ) -> PlannerError {
        PlannerError(
            field: input.row.path, given: Self.plain(value),
            allowed: "use at most \(Self.plain(most)), which is \(other.row.path)")
    }

    func value(_ input: ScenarioInput) -> Double { estimate(input)?.likely ?? 0 }

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
                field: "media.ladderKilobitsPerSecond", given: "given beside media.width",
                allowed: "give the ladder or the picture")
        }
        if isPicture, given[.kilobitsPerSecond] != nil {
            throw PlannerError(
                field: "media.kilobitsPerSecond", given: "given beside media.width",
                allowed: "give the bit rate or the picture")
        }
        if !isPicture {
            let ofPicture: [ScenarioInput] = [.framesPerSecond, .bitsPerPixel, .compression]
            if let input = ofPicture.first(where: { given[$0] != nil }) {
                throw PlannerError(
                    field: input.row.path, given: "given without media.width and media.height",
                    allowed: "set the picture, or omit it")
            }
            if codec != nil {
                throw PlannerError(
                    field: "media.codec", given: "given without media.width and media.height",
                    allowed: "set the picture, or omit it")
            }
        }
        if let rate = given[.kilobitsPerSecond]?.likely, let least = ladder?.first,
            let most = ladder?.last, !(least...most).contains(rate)
        {
            throw PlannerError(
                field: "media.kilobitsPerSecond", given: Self.plain(rate),
                allowed: "use \(Self.plain(least)) to \(Self.plain(most)), the rates of "
                    + "media.ladderKilobitsPerSecond")
        }
        if codec != nil, given[.compression] != nil {
            throw PlannerError(
                field: "media.codec", given: "given beside media.compression",
                allowed: "give one of them")
        }
    }

    private func checkTimes() throws(PlannerError) {
        let window = value(.deadlineHours) * 3_600
        if value(.bootSeconds) >= window {
            throw PlannerError(
                field: "fill.deadlineHours", given: Self.plain(value(.deadlineHours)),
                allowed: "use more than worker.bootSeconds, which is "
                    + Self.plain(value(.bootSeconds)))
        }
        if let median = given[.dispatchMedian]?.likely, let most = given[.dispatchSeconds]?.likely,
            median > most
        {
            throw conflict(.dispatchMedian, median, atMost: most, .dispatchSeconds)
        }
        let handOut = DispatchTime(ScenarioValues(self)).seconds(quantile: value(.percentile))
        if handOut >= value(.waitSeconds) {
            throw PlannerError(
                field: "onDemand.waitSeconds", given: Self.plain(value(.waitSeconds)),
                allowed: "use more than \(Self.plain((handOut * 1e6).rounded(.up) / 1e6)), the "
                    + "time to hand out a job at onDemand.percentile, from "
                    + "onDemand.dispatchSeconds")
        }
    }

    /// Formats a number plainly: `1000`, `0.05`.
    package static func plain(_ value: Double) -> String {
        guard value.isFinite, value == value.rounded(), abs(value) < 1e15 else { return "\(value)" }
        return String(Int(value))
    }

    /// Formats a count with grouped thousands: `17,153`.
    static func grouped(_ count: Int) -> String { grouped(Double(count)) }

    /// Formats a number of a sentence or a bill, with grouped thousands: `17,153`, `105.186`.
    static func grouped(_ value: Double) -> String {
        let text = plain(value)
        guard abs(value) >= 1_000, abs(value) < 1e15 else { return text }
        let end = text.firstIndex(of: ".") ?? text.endIndex
        var whole = ""
        for (index, digit) in text[..<end].reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3), digit != "-" { whole.append(",") }
            whole.append(digit)
        }
        return String(whole.reversed()) + text[end...]
    }
}
