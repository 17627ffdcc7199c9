import Model
import Planner
import Rendering

/// The options of a plan's cost, own edges and CDNs, as text.
struct CostFacts {
    /// Own edge servers with a provider, or a CDN.
    struct Option {
        let name: String
        let perMonth: Money
        let cumulative: [Money]
        let prices: [ProviderCost.PriceInUse]
    }

    let plan: Plan
    let options: [Option]
    /// The currency of all options; nil if they differ.
    let currency: String?

    init(_ plan: Plan) {
        self.plan = plan
        let options =
            plan.costs.map {
                Option(
                    name: $0.name, perMonth: $0.perMonth, cumulative: $0.cumulative,
                    prices: $0.prices)
            }
            + plan.cdns.map {
                Option(
                    name: $0.name, perMonth: $0.perMonth, cumulative: $0.cumulative,
                    prices: $0.prices)
            }
        self.options = options
        let currencies = Set(options.map(\.perMonth.currency))
        currency = currencies.count == 1 ? currencies.first ?? nil : nil
    }

    /// Months of the totals, this one included: those for which all options have a price.
    var months: Int { options.map(\.cumulative.count).min() ?? 0 }

    /// Formats an amount without its currency if all have the same.
    func amount(_ money: Money?) -> String {
        guard let money else { return "–" }
        guard let currency, let amount = money.amount(in: currency) else {
            return MoneyText.text(money)
        }
        return amount == 0 || abs(amount) >= 100
            ? HumanFormat.count(Int64(saturating: amount.rounded())) : MoneyText.amount(amount)
    }

    var title: String { "Cost" + (currency.map { ", \($0)" } ?? "") }

    var headings: [String] { ["a month", Self.count(months), "prices"] }

    func row(_ option: Option) -> [String] {
        [
            option.name, amount(option.perMonth),
            amount(months > 0 ? option.cumulative[months - 1] : nil),
            Self.quality(option.prices),
        ]
    }

    private static func count(_ months: Int) -> String {
        HumanFormat.count(months, "month")
    }

    /// Describes the years of prices, and how many are assumed or have no address to check them at.
    static func quality(_ prices: [ProviderCost.PriceInUse]) -> String {
        let dates = prices.map { String($0.price.date.prefix(4)) }.sorted()
        var parts: [String] = []
        if let first = dates.first, let last = dates.last {
            parts.append(first == last ? first : "\(first) to \(last)")
        }
        let assumed = prices.count { $0.price.isAssumption }
        let unchecked = prices.count { !$0.price.isCheckable } - assumed
        if assumed > 0 { parts.append("\(assumed) assumed") }
        if unchecked > 0 { parts.append("\(unchecked) unchecked") }
        return parts.joined(separator: ", ")
    }

    /// Explains the words of `quality`, and warns of an old exchange rate; nil if all prices have an
    /// address and the rate is not old.
    var legend: String? {
        let prices = options.flatMap(\.prices)
        let isConverted = prices.contains { $0.price.currency != currency }
        let sentences = [words(of: prices), isConverted ? plan.exchangeWarning : nil]
            .compactMap(\.self)
        return sentences.isEmpty ? nil : sentences.joined(separator: " ")
    }

    private func words(of prices: [ProviderCost.PriceInUse]) -> String? {
        guard prices.contains(where: { !$0.price.isCheckable }) else { return nil }
        return "Assumed prices are guesses to replace by offers (--prices); unchecked ones have a "
            + "source without an address."
    }

    /// The condition under which costs hold; nil if there is none.
    var condition: String? {
        guard !plan.costsWithoutLimits.isEmpty else { return nil }
        let limits = plan.costsWithoutLimits.joined(separator: " and ")
        return "If the origin had no limits: with \(limits) no pool suffices (Problems)."
    }

    /// Relates the edge servers of the plan to those of the prices; nil without any.
    var edgeServers: String? {
        guard !plan.costs.isEmpty else { return nil }
        let edge = plan.sizing.edge
        return "The plan's \(HumanFormat.count(edge.servers, "edge server")) of "
            + "\(Quantity.bandwidth(edge.megabitsPerSecond * 1e6)) are a size without a provider. "
            + "Costs have each provider's cheapest kind for the same load, so their numbers differ."
    }

    /// Describes the recommended option and the reason; nil without one.
    var recommendation: String? {
        guard let best = plan.recommendation else { return nil }
        let planned = plan.growth.months.count - 1
        let isShort = best.months < planned
        var text =
            "Recommended: \(best.name), \(MoneyText.rounded(best.total)) in "
            + "\(Self.count(best.months))"
            + (isShort ? " (after which no pool suffices)" : "") + ", the least"
            + (best.assumedShare > 0
                ? " even if assumed prices (\(Quantity.percent(best.assumedShare)) of it) are twice "
                    + "as high."
                : best.cheaperIfAssumed == nil ? "." : " by prices that are not assumed.")
        if let next = best.next {
            text +=
                " \(next.name) costs \(Quantity.percent(next.difference)) more, mostly for "
                + "\(next.item) (\(MoneyText.rounded(next.itemCost)) a month instead of "
                + "\(MoneyText.rounded(next.recommendedItemCost)))"
            if let month = next.cheaperFromMonth, month > 0 {
                text += ", but less until month \(month)"
            }
            text += "."
        }
        if let other = best.cheaperIfAssumed {
            text +=
                " \(other.name) would cost \(Quantity.percent(-other.difference)) less by assumed "
                + "prices: ask for an offer."
        }
        return text
    }

    /// The figures of providers, a row for each.
    var detailHeadings: [String] { [""] + plan.costs.map(\.name) }

    var details: [[String]] {
        let figures: [(String, (ProviderCost) -> Money?)] = [
            ("a month", { $0.perMonth }), ("per user", { $0.perUser }),
            ("per TB pre-fetched", { $0.perTerabytePrefetched }),
            ("workers scaled", { $0.perMonthScaled }),
            ("over-provisioned", { $0.overProvisioning }),
            ("twice as many, additional", { $0.twiceAsMany }),
            ("device-side", { $0.deviceSide.perMonth }), ("load test", { $0.loadTest.cost }),
        ]
        return figures.map { name, figure in [name] + plan.costs.map { amount(figure($0)) } }
    }

    /// The page's tile with the monthly cost of the recommended provider, or of a plan's single provider.
    var head: [(String, String)] {
        let chosen =
            plan.recommendation.flatMap { best in options.first { $0.name == best.name } }
            ?? (options.count == 1 ? options[0] : nil)
        return chosen.map { [("a month, \($0.name)", MoneyText.rounded($0.perMonth))] }
            ?? []
    }

    static let itemHeadings = ["item", "quantity", "a month"]

    /// The items of an option, and their total.
    func items(_ items: [ProviderCost.Item], _ total: Money) -> [[String]] {
        items.map { [$0.name, $0.count, amount($0.cost)] } + [["total", "", amount(total)]]
    }
}

extension MoneyText {
    /// Formats money without decimals from 100 on: `1,235 EUR`.
    static func rounded(_ money: Money) -> String {
        guard let currency = money.currency, let amount = money.amount(in: currency),
            abs(amount) >= 100
        else { return text(money) }
        return "\(HumanFormat.count(Int64(saturating: amount.rounded()))) \(currency)"
    }
}
