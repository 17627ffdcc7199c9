/// The prices of a content delivery network (CDN), from a price file.
package struct CDNPrices: Hashable, Sendable {
    package var id: String
    package var name: String
    package var delivery: Delivery
    /// Price of requests; nil if they are free.
    package var requests: Requests?
    /// Least amount per month, committed by contract; nil without.
    package var minimum: PriceBook.Price?

    /// The unit by which delivered traffic is billed.
    package enum Delivery: Hashable, Sendable {
        /// By bytes, in tiers.
        case volume(PriceBook.Egress)
        /// By the 95th percentile of the bandwidth of a month.
        case percentile(Percentile)
    }

    /// A price by bandwidth.
    package struct Percentile: Hashable, Sendable {
        /// Per Mbit/s and month.
        package var perMegabit: PriceBook.Price
        /// Bandwidth that is paid at least, in Mbit/s.
        package var commitMegabits: Double

        package init(perMegabit: PriceBook.Price, commitMegabits: Double) {
            self.perMegabit = perMegabit
            self.commitMegabits = commitMegabits
        }
    }

    /// A price of requests.
    package struct Requests: Hashable, Sendable {
        /// Requests for which the price is.
        package var per: Double
        package var price: PriceBook.Price
        /// Free requests per month.
        package var included: Double

        package init(per: Double, price: PriceBook.Price, included: Double) {
            self.per = per
            self.price = price
            self.included = included
        }
    }

    package init(
        id: String, name: String, delivery: Delivery, requests: Requests? = nil,
        minimum: PriceBook.Price? = nil
    ) {
        self.id = id
        self.name = name
        self.delivery = delivery
        self.requests = requests
        self.minimum = minimum
    }

    /// All its prices with their items.
    package var prices: [(what: String, price: PriceBook.Price)] {
        var all: [(String, PriceBook.Price)] =
            switch delivery {
            case .volume(let egress): egress.prices
            case .percentile(let percentile):
                [("a Mbit/s of the 95th percentile and month", percentile.perMegabit)]
            }
        if let requests {
            all.append(("\(Scenario.grouped(requests.per)) requests", requests.price))
        }
        if let minimum { all.append(("committed, a month", minimum)) }
        return all
    }
}

/// The cost of serving viewers by a CDN instead of own edge servers.
package struct CDNCost: Codable, Hashable, Sendable {
    package let cdn: String
    package let name: String
    /// Monthly costs, item by item.
    package let items: [ProviderCost.Item]
    package let perMonth: Money
    /// The part of it by assumed prices.
    package let assumedPerMonth: Money
    /// The sum from now to the end of each month; shorter if no price is known for a month.
    package let cumulative: [Money]
    package let prices: [ProviderCost.PriceInUse]
}

/// The amounts behind the cost of a CDN.
struct CDNBill {
    private let choice: Scenario.MoneyChoice
    private let values: ScenarioValues
    private let demand: Demand
    private let book: CDNPrices
    private let origin: PriceBook

    init(
        _ choice: Scenario.MoneyChoice, _ values: ScenarioValues, _ demand: Demand,
        _ book: CDNPrices, origin: PriceBook
    ) {
        self.choice = choice
        self.values = values
        self.demand = demand
        self.book = book
        self.origin = origin
    }

    private func inOne(_ money: Money) -> Money {
        money.converted(to: choice.currency, rates: choice.exchange)
    }

    /// The bandwidth that 95 % of a month's samples do not exceed, in Mbit/s.
    ///
    /// With an access log by its hours, scaled to the plan's mean; else by a wave between mean and
    /// peak, which exceeds its value 1.2 hours of a day.
    var percentileMegabits: Double {
        let mean = demand.egressBytesPerMonth * 8 / (Demand.daysPerMonth * 86_400) / 1e6
        let peak = demand.peakEgressBitsPerSecond / 1e6
        if let shape = values.hourlyShape {
            let sorted = shape.sorted(by: >)
            let average = shape.reduce(0, +) / Double(shape.count)
            // 1.2 hours: the highest one is not billed.
            return min(peak, mean * sorted[1] / average)
        }
        return mean + (peak - mean) * Self.cosineOf5Percent
    }

    /// cos(0.05 π).
    private static let cosineOf5Percent = 0.987_688_340_6

    private var delivery: (count: String, cost: Money) {
        switch book.delivery {
        case .volume(let egress):
            let bytes = demand.egressBytesPerMonth
            return (Bill.terabytes(bytes), inOne(egress.cost(bytes: bytes, machines: 1)))
        case .percentile(let percentile):
            let megabits = max(percentileMegabits, percentile.commitMegabits)
            return (
                "\(Scenario.grouped(megabits.rounded())) Mbit/s, 95th percentile",
                inOne(percentile.perMegabit.times(megabits))
            )
        }
    }

    /// Requests per month.
    private var requests: Double {
        demand.meanRequestsPerSecond * 86_400 * Demand.daysPerMonth
    }

    private var requestCost: Money {
        guard let price = book.requests else { return Money() }
        return inOne(price.price.times(max(0, requests - price.included) / price.per))
    }

    /// Bytes per month from the origin: the CDN has the hit ratio of the edge, and no fill.
    private var originBytes: Double {
        demand.meanMissesPerSecond * demand.missBytes * 86_400 * Demand.daysPerMonth
    }

    private var originEgress: Money {
        inOne(origin.egress.cost(bytes: originBytes, machines: 1))
    }

    var items: [ProviderCost.Item] {
        let delivery = delivery
        var items = [
            ProviderCost.Item(name: "delivery", count: delivery.count, cost: delivery.cost)
        ]
        if book.requests != nil {
            items.append(
                ProviderCost.Item(
                    name: "requests",
                    count: "\(Scenario.grouped((requests / 1e6).rounded())) million",
                    cost: requestCost))
        }
        let used = delivery.cost + requestCost
        let least = book.minimum.map { inOne($0.times(1)) }
        if let least, let rest = least.exceeding(used) {
            items.append(
                ProviderCost.Item(name: "commitment that is not used", count: "", cost: rest))
        }
        items.append(
            ProviderCost.Item(
                name: "egress of the origin",
                count: "\(Bill.terabytes(originBytes)), \(origin.name)",
                cost: originEgress))
        return items
    }

    /// The part of the monthly cost by assumed prices.
    var assumed: Money {
        let isOwn = book.prices.contains(where: \.price.isAssumption)
        let isOrigin = origin.egress.tiers.contains(where: \.perUnit.isAssumption)
        let rest = total - originEgress
        return (isOwn ? rest : Money()) + (isOrigin ? originEgress : Money())
    }

    var total: Money { items.reduce(Money()) { $0 + $1.cost } }
}

extension CDNCost {
    /// Returns the cost with each CDN. The origin is that of the scenario, or the cheapest one.
    static func all(
        _ scenario: Scenario, _ forecast: [Growth.Step], _ books: [CDNPrices],
        origins: [PriceBook]
    ) -> [CDNCost] {
        guard let now = forecast.first else { return [] }
        let wanted = scenario.money.originProvider ?? scenario.money.provider
        func egress(_ book: PriceBook) -> Double {
            let money = book.egress.cost(bytes: now.sizing.demand.missBytes * 1e6, machines: 0)
            let converted = money.converted(
                to: scenario.money.currency, rates: scenario.money.exchange)
            return converted.amounts.values.reduce(0, +)
        }
        let origin =
            origins.first { $0.id == wanted } ?? origins.min { egress($0) < egress($1) }
        guard let origin else { return [] }
        return books.map { book in
            func bill(_ step: Growth.Step) -> CDNBill {
                CDNBill(scenario.money, step.values, step.sizing.demand, book, origin: origin)
            }
            let today = bill(now)
            return CDNCost(
                cdn: book.id, name: book.name, items: today.items, perMonth: today.total,
                assumedPerMonth: today.assumed,
                cumulative: Money.cumulative(forecast.map { bill($0).total }),
                prices: book.prices.map { ProviderCost.PriceInUse(what: $0.what, price: $0.price) }
                    + origin.egress.prices.map {
                        ProviderCost.PriceInUse(what: "origin's \($0.what)", price: $0.price)
                    })
        }
    }
}
