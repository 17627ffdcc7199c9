extension Scenario {
    /// Throws for peaks that conflict with the audience or with each other.
    func checkAudience() throws(PlannerError) {
        try checkUsers()
        try checkShares()
        try checkPeakOverMean()
        try checkMean()
        if let mean = given[.meanRequests]?.likely, let peak = given[.peakRequests]?.likely {
            if peak < mean {
                throw PlannerError(
                    field: "edge.peakRequestsPerSecond", given: Self.plain(peak),
                    allowed: "use at least \(Self.plain(mean)), which is "
                        + "edge.meanRequestsPerSecond")
            }
            if let ratio = stated(.peakToMean), stated(.peakRequests) != nil, mean > 0 {
                try agree(.peakToMean, ratio, peak / mean, .peakRequests)
            }
        }
    }

    /// Returns an input of the user; nil for a measured one.
    private func stated(_ input: ScenarioInput) -> Double? {
        measured[input] == nil ? given[input]?.likely : nil
    }

    /// Daily users, given or calculated; nil if only the peak is known.
    private var day: Double? {
        if let daily = given[.dailyActiveUsers]?.likely { return daily }
        if isReplaced(.monthlyActiveUsers) { return nil }
        return value(.monthlyActiveUsers) * value(.dailyActiveShare)
    }

    /// Throws if a subset is larger than the whole.
    private func checkUsers() throws(PlannerError) {
        let monthly = given[.monthlyActiveUsers]?.likely
        let daily = given[.dailyActiveUsers]?.likely
        if let monthly, let daily, daily > monthly {
            throw conflict(.dailyActiveUsers, daily, atMost: monthly, .monthlyActiveUsers)
        }
        guard let peak = given[.peakConcurrentUsers]?.likely else { return }
        if let monthly, peak > monthly {
            throw conflict(.peakConcurrentUsers, peak, atMost: monthly, .monthlyActiveUsers)
        }
        if let daily, peak > daily {
            throw conflict(.peakConcurrentUsers, peak, atMost: daily, .dailyActiveUsers)
        }
        if daily == nil, given[.dailyActiveShare] != nil, let day, peak > day {
            throw PlannerError(
                field: ScenarioInput.peakConcurrentUsers.row.path, given: Self.plain(peak),
                allowed: "use at most \(Self.plain(day.rounded())), the daily users from "
                    + "audience.dailyActiveShare")
        }
    }

    /// Throws if a number and a share contradict each other.
    private func checkShares() throws(PlannerError) {
        if given[.dailyActiveShare] != nil, let monthly = given[.monthlyActiveUsers]?.likely,
            let daily = given[.dailyActiveUsers]?.likely
        {
            try agree(
                .dailyActiveUsers, daily, monthly * value(.dailyActiveShare), .dailyActiveShare)
        }
        if given[.peakShare] != nil, let peak = given[.peakConcurrentUsers]?.likely, let day {
            try agree(.peakConcurrentUsers, peak, day * value(.peakShare), .peakShare)
        }
    }

    /// Throws if two inputs contradict each other beyond rounding.
    private func agree(
        _ input: ScenarioInput, _ value: Double, _ implied: Double, _ other: ScenarioInput
    ) throws(PlannerError) {
        guard abs(value - implied) > 0.01 * max(value, implied) else { return }
        let rounded = implied >= 100 ? implied.rounded() : (implied * 100).rounded() / 100
        throw PlannerError(
            field: input.row.path, given: Self.plain(value),
            allowed: "omit it or \(other.row.path): that gives \(Self.plain(rounded))")
    }

    /// Mean share of daily users that watch concurrently (Little 1961).
    private var meanShare: Double { value(.minutesPerDay) / 1_440 }

    /// Peak concurrent users over daily users; nil if the peak follows from the mean.
    private var peakShareInUse: Double? {
        if let peak = given[.peakConcurrentUsers]?.likely, let day {
            return peak / max(day, peak)
        }
        return estimate(.peakShare)?.likely
    }

    /// Throws if the peak's number and its ratio to the mean contradict each other.
    private func checkPeakOverMean() throws(PlannerError) {
        guard let ratio = stated(.peakToMean), meanShare > 0 else { return }
        if let peak = peakShareInUse {
            let other: ScenarioInput =
                given[.peakConcurrentUsers] == nil ? .peakShare : .peakConcurrentUsers
            try agree(.peakToMean, ratio, peak / meanShare, other)
        } else if ratio * meanShare > 1 {
            throw PlannerError(
                field: ScenarioInput.peakToMean.row.path, given: Self.plain(ratio),
                allowed: "use at most \(Self.plain((100 / meanShare).rounded(.down) / 100)): a "
                    + "higher ratio exceeds all daily users at the same time, who watch "
                    + "\(Self.plain(value(.minutesPerDay))) minutes (viewing.minutesPerDay)")
        }
    }

    /// Throws if the peak is below the mean.
    private func checkMean() throws(PlannerError) {
        guard let share = peakShareInUse, share < meanShare * (1 - 1e-9) else { return }
        let minutes = "viewing.minutesPerDay, \(Self.plain(value(.minutesPerDay)))"
        if let peak = given[.peakConcurrentUsers]?.likely {
            let users = day ?? peak / value(.peakShare)
            throw PlannerError(
                field: ScenarioInput.peakConcurrentUsers.row.path, given: Self.plain(peak),
                allowed:
                    "use at least "
                    + "\(Self.plain((max(users, peak) * meanShare - 1e-6).rounded(.up))), "
                    + "the average number of concurrent viewers among "
                    + "\(Self.plain(users.rounded())) daily users, from \(minutes)"
            )
        }
        if let given = given[.peakShare]?.likely {
            throw PlannerError(
                field: ScenarioInput.peakShare.row.path, given: Self.plain(given),
                allowed: "use at least \(Self.plain((meanShare * 1e4).rounded(.up) / 1e4)), the "
                    + "average share that watches, from \(minutes)")
        }
        throw PlannerError(
            field: ScenarioInput.minutesPerDay.row.path,
            given: Self.plain(value(.minutesPerDay)),
            allowed: "use at most \(Self.plain((share * 1_440).rounded(.down))), or set "
                + "audience.peakShare: otherwise more users watch on average than at the peak")
    }
}
