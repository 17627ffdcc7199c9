package import Model
package import Planner

/// Exchange rates that stand in for missing ones, so that all options are in one currency.
package enum ExchangeRates {
    /// Units of a currency for one euro.
    private static let perEuro = ["EUR": 1, "USD": 1.0465]
    private static let date = "2025-02-21"
    private static let source = "reference rate of the European Central Bank"

    /// Sets the currency of totals (EUR) and its rates, if no rates are given.
    package static func complete(_ money: inout Scenario.MoneyChoice) {
        guard money.exchange.isEmpty else { return }
        let currency = money.currency ?? "EUR"
        money.currency = currency
        guard let own = perEuro[currency] else { return }
        for (other, rate) in perEuro where other != currency {
            money.exchange[other] = own / rate
        }
        money.exchangeDate = date
        money.exchangeSource = source
    }

    /// Returns a sentence if the rates are older than a year; nil if not, and without their date.
    ///
    /// - Parameter today: `2026-11-29`.
    package static func warning(_ money: Scenario.MoneyChoice, today: String) -> String? {
        guard let date = money.exchangeDate, let year = Int(today.prefix(4)) else { return nil }
        let limit = "\(year - 1)" + today.dropFirst(4)
        // A date may be a month or a year.
        guard date < limit.prefix(date.count) else { return nil }
        return "The exchange rate is from \(date), over a year ago: set money.exchange."
    }

    /// Throws `input.field` if costs are in other currencies, and there is no rate at all.
    package static func check(_ plan: Plan, _ money: Scenario.MoneyChoice) throws(Failure) {
        guard money.exchange.isEmpty, let currency = money.currency else { return }
        let costs = plan.costs.map(\.perMonth) + plan.cdns.map(\.perMonth)
        let others = Set(costs.flatMap { $0.amounts.filter { $0.value != 0 }.keys })
            .subtracting([currency]).sorted()
        guard let first = others.first else { return }
        throw Failure(
            .inputField,
            "the currency is \(currency), which has no exchange rate for "
                + others.joined(separator: " and "),
            hint: "Use \(perEuro.keys.sorted().joined(separator: " or ")), or set "
                + "money.exchange in SCENARIO: {\"currency\": \"\(currency)\", \"exchange\": "
                + "{\"\(first)\": \(currency) for 1 \(first)}}.")
    }
}
