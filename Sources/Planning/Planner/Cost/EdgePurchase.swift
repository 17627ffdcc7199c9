/// The edge servers of a provider: the kind that costs least for the load, and their number.
struct EdgePurchase {
    let instance: PriceBook.Instance
    /// Servers of all sites, with a spare one each.
    let servers: Int
    /// The same without headroom and spare ones.
    let barelyNeeded: Int

    var perMonth: Money { instance.perMonth.times(Double(servers)) }

    /// Kinds are compared in one currency; without a rate, only those in the currency of the
    /// provider's other machines. A site has no more than a few of the small machines, if there are
    /// larger ones: hundreds of small servers are not what anybody buys.
    init(
        _ values: ScenarioValues, _ load: Sizing.Edge.Load, _ book: PriceBook,
        _ choice: Scenario.MoneyChoice
    ) {
        func kind(_ instance: PriceBook.Instance) -> Sizing.EdgeKind {
            Sizing.EdgeKind(
                cores: instance.cores,
                megabitsPerSecond: instance.nicMegabitsPerSecond ?? values[.nicMegabits])
        }
        func cost(_ instance: PriceBook.Instance) -> Money {
            instance.perMonth.times(Double(load.allServers(kind(instance))))
                .converted(to: choice.currency, rates: choice.exchange)
        }
        let currency = cost(book.instance).currency
        func amount(_ instance: PriceBook.Instance) -> Double {
            currency.flatMap { cost(instance).amount(in: $0) } ?? .infinity
        }
        let isSmallEnough = load.servers(kind(book.instance)) <= Sizing.Edge.maxOfSmallerKind
        let kinds = (isSmallEnough ? [book.instance] : []) + book.edgeServers
        let chosen = kinds.min { amount($0) < amount($1) } ?? book.instance
        instance = chosen
        servers = load.allServers(kind(chosen))
        barelyNeeded = load.servers(kind(chosen), used: 1) * Int(load.sites)
    }
}
