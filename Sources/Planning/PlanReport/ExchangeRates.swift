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
}
