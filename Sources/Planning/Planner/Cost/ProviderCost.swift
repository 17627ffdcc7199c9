/// The cost of a plan with one provider.
package struct ProviderCost: Codable, Hashable, Sendable {
    package let provider: String
    package let name: String
    package let originProvider: String
    /// Monthly costs of the plan, item by item.
    package let items: [Item]
    package let perMonth: Money
    /// The part of it by assumed prices.
    package let assumedPerMonth: Money
    /// The sum from now to the end of each month; shorter if no pool suffices in a month.
    package let cumulative: [Money]
    /// The cost per TB fetched to the edge: workers, coordinators, database, and the origin's
    /// egress. Nil if nothing is prefetched.
    package let perTerabytePrefetched: Money?
    /// Per month and monthly active user.
    package let perUser: Money
    /// Monthly cost if workers scale: all during the fill, otherwise as many as the mean load
    /// needs.
    package let perMonthScaled: Money
    /// The part of `perMonth` for headroom, spare workers and standbys.
    package let overProvisioning: Money
    /// The additional cost of twice as many workers and edge servers.
    package let twiceAsMany: Money
    /// The alternative without edge and workers: devices fetch and check everything from the
    /// origin.
    package let deviceSide: DeviceSide
    package let loadTest: LoadTest
    /// Every price used, with its currency, date and source.
    package let prices: [PriceInUse]

    package struct Item: Codable, Hashable, Sendable {
        package let name: String
        package let count: String
        package let cost: Money
    }

    package struct PriceInUse: Codable, Hashable, Sendable {
        package let what: String
        package let price: PriceBook.Price
    }

    package struct DeviceSide: Codable, Hashable, Sendable {
        package let perMonth: Money
        package let originServers: Int
        /// Processor hours per month that all devices together spend on the workers' tasks.
        package let deviceHours: Double
        /// The peak divided by the origin's limits; nil without limits.
        package let originShare: Double?
    }

    package struct LoadTest: Codable, Hashable, Sendable {
        package let hours: Double
        /// Load generators: one per 35,000 users, and enough for the received traffic.
        package let generators: Int
        package let egressBytes: Double
        package let cost: Money
    }

    /// Users per load generator: k6 states 30,000 to 40,000.
    static let usersPerGenerator = 35_000.0
    static let hoursPerMonth = Demand.daysPerMonth * 24
}

extension ProviderCost {
    /// Returns the cost for the scenario's provider, or for every provider; empty without prices,
    /// or if no pool suffices.
    static func all(
        _ scenario: Scenario, _ forecast: [Growth.Step], _ books: [PriceBook]
    ) throws(PlannerError) -> [ProviderCost] {
        guard !books.isEmpty else { return [] }
        let origin = try scenario.money.originProvider.map { id throws(PlannerError) in
            try book(id, "money.originProvider", books)
        }
        let chosen =
            try scenario.money.provider.map { id throws(PlannerError) in
                [try book(id, "money.provider", books)]
            } ?? books
        return chosen.compactMap { book in
            ProviderCost(scenario.money, forecast, book, origin: origin ?? book)
        }
    }

    private static func book(
        _ id: String, _ field: String, _ books: [PriceBook]
    ) throws(PlannerError) -> PriceBook {
        if let book = books.first(where: { $0.id == id }) { return book }
        throw PlannerError(
            field: field, given: "\"\(id.prefix(40))\"",
            allowed: "use one of \(books.map(\.id).sorted().joined(separator: ", "))")
    }

    /// Returns nil if no pool suffices.
    private init?(
        _ choice: Scenario.MoneyChoice, _ forecast: [Growth.Step], _ book: PriceBook,
        origin: PriceBook
    ) {
        guard let now = forecast.first,
            let bill = Bill(choice, now.values, now.sizing, book, origin)
        else { return nil }
        let sizing = now.sizing
        let months = forecast.map { step in
            Bill(choice, step.values, step.sizing, book, origin)?.quickTotal
        }
        cumulative = Money.cumulative(months.prefix { $0 != nil }.compactMap { $0 })
        provider = book.id
        name = book.name
        originProvider = origin.id
        items = bill.items
        perMonth = bill.total
        assumedPerMonth = bill.assumed
        perUser = bill.total / max(1, sizing.demand.monthlyActiveUsers)
        perTerabytePrefetched = bill.perTerabyte
        perMonthScaled = bill.scaled
        overProvisioning = bill.overProvisioning
        twiceAsMany = bill.machines(bill.workers) + bill.edgeServers
        deviceSide = bill.deviceSide
        loadTest = bill.loadTest
        var seen = bill.prices
        if origin.id != book.id {
            seen += origin.prices.filter { $0.what.hasPrefix("egress") }
                .map { ("origin's \($0.what)", $0.price) }
        }
        prices = seen.map { PriceInUse(what: $0.what, price: $0.price) }
    }
}
