/// The option that costs least over the months of the plan, even if assumed prices are twice as high,
/// and the reason. Options with most of their cost by assumed prices are not recommended.
package struct Recommendation: Codable, Hashable, Sendable {
    /// Name of the provider or CDN.
    package let name: String
    /// True for a CDN instead of own edge servers.
    package let isCDN: Bool
    /// Sum over `months` months, this one included.
    package let total: Money
    package let months: Int
    /// Share of the cost by assumed prices.
    package let assumedShare: Double
    /// The cheapest other option that costs more; nil if there is none.
    package let next: Comparison?
    /// An option that is cheaper by assumed prices; nil if there is none.
    package let cheaperIfAssumed: Comparison?

    /// Another option beside the recommended one.
    package struct Comparison: Codable, Hashable, Sendable {
        package let name: String
        package let total: Money
        /// Its total over the recommended one, less 1.
        package let difference: Double
        /// The item that differs most, and both of its monthly costs.
        package let item: String
        package let itemCost: Money
        package let recommendedItemCost: Money
        /// The first month from which on the recommended option has cost less in total; nil for
        /// never. Month 0 is now.
        package let cheaperFromMonth: Int?
    }

    /// An option with its total in one currency.
    fileprivate struct Option {
        let name: String
        let isCDN: Bool
        let assumedShare: Double
        let cumulative: [Double]
        let currency: String
        let costs: [String: Double]

        /// Returns nil without a total in one currency for every month.
        init?(
            _ name: String, isCDN: Bool, _ items: [ProviderCost.Item], _ cumulative: [Money],
            perMonth: Money, assumed: Money, months: Int
        ) {
            guard months > 0, let currency = cumulative[months - 1].currency else { return nil }
            let amounts = cumulative.prefix(months).compactMap { $0.amount(in: currency) }
            guard amounts.count == months else { return nil }
            self.name = name
            self.isCDN = isCDN
            self.cumulative = amounts
            self.currency = currency
            let (all, part) = (perMonth.amount(in: currency), assumed.amount(in: currency))
            assumedShare = (part ?? 0) / max(1e-9, all ?? 0)
            var costs: [String: Double] = [:]
            for item in items {
                costs[Self.kind(item.name), default: 0] += item.cost.amount(in: currency) ?? 0
            }
            self.costs = costs
        }

        var total: Double { cumulative.last ?? 0 }
        /// The total if assumed prices are twice as high.
        var careful: Double { total * (1 + assumedShare) }
        var isMostlyAssumed: Bool { assumedShare > 0.5 }

        /// Groups items of edges and CDNs that serve the same purpose.
        private static func kind(_ item: String) -> String {
            switch item {
            case "egress to viewers", "delivery", "requests", "commitment that is not used":
                "traffic to viewers"
            case "workers", "coordinators", "database": "workers and their database"
            default: item
            }
        }
    }

    init?(_ costs: [ProviderCost], _ cdns: [CDNCost]) {
        // The months for which all options have a price.
        let months =
            (costs.map(\.cumulative.count) + cdns.map(\.cumulative.count)).min() ?? 0
        let options =
            costs.compactMap {
                Option(
                    $0.name, isCDN: false, $0.items, $0.cumulative, perMonth: $0.perMonth,
                    assumed: $0.assumedPerMonth, months: months)
            }
            + cdns.compactMap {
                Option(
                    $0.name, isCDN: true, $0.items, $0.cumulative, perMonth: $0.perMonth,
                    assumed: $0.assumedPerMonth, months: months)
            }
        guard let currency = options.first?.currency,
            options.allSatisfy({ $0.currency == currency }), options.count > 1
        else { return nil }
        let sorted = options.sorted { $0.total < $1.total }
        let known = sorted.filter { !$0.isMostlyAssumed }
        let best = (known.isEmpty ? sorted : known).min { $0.careful < $1.careful }
        guard let best else { return nil }
        name = best.name
        isCDN = best.isCDN
        total = Money(best.total, currency)
        self.months = months
        assumedShare = best.assumedShare
        next = sorted.first { $0.name != best.name && $0.total >= best.total }
            .map { Comparison($0, best) }
        cheaperIfAssumed = sorted.first.flatMap { cheapest in
            cheapest.name == best.name ? nil : Comparison(cheapest, best)
        }
    }
}

extension Recommendation.Comparison {
    fileprivate init(_ other: Recommendation.Option, _ best: Recommendation.Option) {
        name = other.name
        total = Money(other.total, other.currency)
        difference = best.total > 0 ? other.total / best.total - 1 : 0
        let kinds = Set(other.costs.keys).union(best.costs.keys).sorted()
        func apart(_ kind: String) -> Double {
            ((other.costs[kind] ?? 0) - (best.costs[kind] ?? 0))
                * (other.total >= best.total ? 1 : -1)
        }
        let item = kinds.max { apart($0) < apart($1) } ?? ""
        self.item = item
        itemCost = Money(other.costs[item] ?? 0, other.currency)
        recommendedItemCost = Money(best.costs[item] ?? 0, best.currency)
        let dearer = best.cumulative.indices.last { best.cumulative[$0] > other.cumulative[$0] }
        let from = dearer.map { $0 + 1 } ?? 0
        cheaperFromMonth = from < best.cumulative.count ? from : nil
    }
}

extension Money {
    /// The only currency; nil for several, or none.
    package var currency: String? {
        let used = amounts.filter { $0.value != 0 }
        if used.count == 1 { return used.first?.key }
        return used.isEmpty && amounts.count == 1 ? amounts.first?.key : nil
    }

    /// Returns the amount if there is no other currency; nil otherwise.
    package func amount(in currency: String) -> Double? {
        amounts.allSatisfy { $0.key == currency || $0.value == 0 } ? amounts[currency] ?? 0 : nil
    }

    /// Returns what is missing from `used` to this amount; nil if nothing is, or in another
    /// currency.
    func exceeding(_ used: Money) -> Money? {
        guard let currency, let amount = amount(in: currency),
            let other = used.amount(in: currency),
            amount > other
        else { return nil }
        return Money(amount - other, currency)
    }

    /// Returns the running sums.
    static func cumulative(_ months: [Money]) -> [Money] {
        var sum = Money()
        return months.map { month in
            sum = sum + month
            return sum
        }
    }
}
