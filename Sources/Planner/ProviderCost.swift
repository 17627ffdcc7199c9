/// What a plan costs with one provider.
package struct ProviderCost: Codable, Hashable, Sendable {
    package let provider: String
    package let name: String
    package let originProvider: String
    /// A month of the plan, item by item.
    package let items: [Item]
    package let perMonth: Money
    /// What getting a TB to the edge costs: workers, coordinators, database, and the origin's egress.
    /// Nil when nothing is pre-fetched.
    package let perTerabytePrefetched: Money?
    /// A month, for each monthly active user.
    package let perUser: Money
    /// The same when workers run only while the fill lasts, and as many as the mean load needs else.
    package let perMonthScaled: Money
    /// Of `perMonth`, what headroom, spare workers and standbys cost.
    package let overProvisioning: Money
    /// What twice as many workers and edge servers would cost besides.
    package let twiceAsMany: Money
    /// No edge, no workers: devices fetch everything from the origin, and check it themselves.
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
        /// Processor hours a month that devices spend on what workers do otherwise, in all.
        package let deviceHours: Double
        /// The peak over what the origin's limits allow; nil without limits.
        package let originShare: Double?
    }

    package struct LoadTest: Codable, Hashable, Sendable {
        package let hours: Double
        /// Machines that make the load: one for 35,000 users.
        package let generators: Int
        package let egressBytes: Double
        package let cost: Money
    }

    /// Users that one load generator stands for: k6 states 30,000 to 40,000.
    static let usersPerGenerator = 35_000.0
    static let hoursPerMonth = Demand.daysPerMonth * 24
}

extension ProviderCost {
    /// One for the scenario's provider, or one for each there is; none without prices.
    static func all(
        _ scenario: Scenario, _ values: ScenarioValues, _ sizing: Sizing, _ books: [PriceBook]
    ) throws(PlannerError) -> [ProviderCost] {
        guard !books.isEmpty else { return [] }
        let origin = try scenario.money.originProvider.map { id throws(PlannerError) in
            try book(id, "money.originProvider", books)
        }
        let chosen =
            try scenario.money.provider.map { id throws(PlannerError) in
                [try book(id, "money.provider", books)]
            } ?? books
        return chosen.map { book in
            ProviderCost(scenario.money, values, sizing, book, origin: origin ?? book)
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

    init(
        _ choice: Scenario.MoneyChoice, _ values: ScenarioValues, _ sizing: Sizing,
        _ book: PriceBook, origin: PriceBook
    ) {
        let bill = Bill(choice, values, sizing, book, origin)
        provider = book.id
        name = book.name
        originProvider = origin.id
        items = bill.items
        perMonth = bill.total
        perUser = bill.total / max(1, sizing.demand.monthlyActiveUsers)
        perTerabytePrefetched = bill.perTerabyte
        perMonthScaled = bill.scaled
        overProvisioning = bill.overProvisioning
        twiceAsMany = bill.machines(sizing.machines.workers + sizing.machines.edge)
        deviceSide = bill.deviceSide
        loadTest = bill.loadTest
        var seen = book.prices
        if origin.id != book.id {
            seen += origin.prices.filter { $0.what.hasPrefix("egress") }
                .map { ("origin's \($0.what)", $0.price) }
        }
        prices = seen.map { PriceInUse(what: $0.what, price: $0.price) }
    }
}

/// The sums behind a cost.
struct Bill {
    private let choice: Scenario.MoneyChoice
    private let values: ScenarioValues
    private let sizing: Sizing
    private let book: PriceBook
    private let origin: PriceBook

    init(
        _ choice: Scenario.MoneyChoice, _ values: ScenarioValues, _ sizing: Sizing,
        _ book: PriceBook, _ origin: PriceBook
    ) {
        self.choice = choice
        self.values = values
        self.sizing = sizing
        self.book = book
        self.origin = origin
    }

    private func inOne(_ money: Money) -> Money {
        money.converted(to: choice.currency, rates: choice.exchange)
    }

    /// A month of `count` machines as the plan has them, priced by their cores.
    func machines(_ count: Int, months: Double = 1) -> Money {
        machines(count, months: months, of: book)
    }

    private func machines(_ count: Int, months: Double, of book: PriceBook) -> Money {
        let size = values[.machineCores] / book.instance.cores
        return inOne(book.instance.perMonth.times(Double(count) * size * months))
    }

    private var storage: Money {
        inOne(
            book.storage.perUnitMonth.times(
                sizing.demand.edgeStorageBytes / book.storage.unit.bytes))
    }

    private var egress: Money {
        inOne(
            book.egress.cost(
                bytes: sizing.demand.egressBytesPerMonth, machines: sizing.machines.edge))
    }

    /// What the origin sends to workers in a month.
    private var originBytes: Double {
        let demand = sizing.demand
        let missesPerMonth = demand.meanMissesPerSecond * 86_400 * Demand.daysPerMonth
        return demand.fillBytesPerDay * values[.attempts] * Demand.daysPerMonth
            + missesPerMonth * demand.missBytes
    }

    private var originEgress: Money {
        inOne(origin.egress.cost(bytes: originBytes, machines: 1))
    }

    var items: [ProviderCost.Item] {
        let machines = sizing.machines
        func item(_ name: String, _ count: Int) -> ProviderCost.Item {
            ProviderCost.Item(
                name: name, count: "\(count) machines", cost: self.machines(count))
        }
        return [
            item("workers", machines.workers), item("coordinators", machines.coordinators),
            item("database", machines.database), item("edge servers", machines.edge),
            ProviderCost.Item(
                name: "edge storage", count: Bill.terabytes(sizing.demand.edgeStorageBytes),
                cost: storage),
            ProviderCost.Item(
                name: "egress to viewers", count: Bill.terabytes(sizing.demand.egressBytesPerMonth),
                cost: egress),
            ProviderCost.Item(
                name: "egress of the origin", count: Bill.terabytes(originBytes),
                cost: originEgress),
        ]
    }

    private static func terabytes(_ bytes: Double) -> String {
        "\(Scenario.plain((bytes / 1e9).rounded() / 1_000)) TB"
    }

    var total: Money { items.reduce(Money()) { $0 + $1.cost } }

    /// The same but for rounding, without a word about it: it is reckoned thousands of times.
    var quickTotal: Money {
        machines(sizing.machines.total) + storage + egress + originEgress
    }

    /// What getting bytes to the edge costs, over what is got there.
    var perTerabyte: Money? {
        let bytes = sizing.demand.fillBytesPerDay * Demand.daysPerMonth
        guard bytes > 0 else { return nil }
        let machines = sizing.machines
        let sum =
            self.machines(machines.workers + machines.coordinators + machines.database)
            + originEgress
        // Misses pass the same way; they are not what is pre-fetched.
        return sum * (bytes * values[.attempts] / originBytes) / (bytes / 1e12)
    }

    /// Workers by the hour: all of them while the fill lasts, else those that the mean misses need.
    var scaled: Money {
        let workers = sizing.machines.workers
        let share = min(1, values[.deadlineHours] / 24)
        let forMean =
            Double(sizing.workers.forOnDemand ?? workers) / values[.peakToMean]
            / Double(max(1, sizing.workers.needed))
        let inUse = share + (1 - share) * min(1, forMean)
        return total - machines(workers) * (1 - max(inUse, 1 / Double(max(1, workers))))
    }

    var overProvisioning: Money {
        let cores = WorkerSpeed.cores(values) / values[.machineCores]
        let barely = wholeUp(Double(sizing.workers.barelyNeeded) * cores)
        let sites = Int(values[.sites])
        let used = 1 - values[.headroom]
        let perSite = sizing.machines.edge / sites - 1
        let edge = max(1, wholeUp(Double(perSite) * used)) * sites
        return machines(
            sizing.machines.workers - barely + sizing.machines.edge - edge
                + sizing.machines.database / 2 + sizing.machines.coordinators / 2)
    }

    /// Servers like the edge's at the origin, and every byte out of there.
    var deviceSide: ProviderCost.DeviceSide {
        let demand = sizing.demand
        let servers = max(2, sizing.machines.edge / Int(values[.sites]) * Int(values[.sites]))
        let sent = origin.egress.cost(bytes: demand.egressBytesPerMonth, machines: servers)
        let requestsPerMonth = demand.meanRequestsPerSecond * 86_400 * Demand.daysPerMonth
        let seconds =
            demand.egressBytesPerMonth * values[.cpuPerGigabyte] * 1e-9
            + requestsPerMonth * values[.cpuPerSegment] * 1e-6
        let shares = [
            values.known(.originConnections).map { demand.peakConcurrentUsers / $0 },
            values.known(.originRequests).map { demand.peakRequestsPerSecond / $0 },
            values.known(.originMegabits).map { demand.peakEgressBitsPerSecond / ($0 * 1e6) },
        ]
        return ProviderCost.DeviceSide(
            perMonth: machines(servers, months: 1, of: origin) + inOne(sent),
            originServers: servers, deviceHours: seconds / 3_600,
            originShare: shares.compactMap { $0 }.max())
    }

    /// Generators for the peak, and what the edge sends them on top of a month's traffic.
    var loadTest: ProviderCost.LoadTest {
        let hours = values[.loadTestHours]
        let generators = max(
            1, wholeUp(sizing.demand.peakConcurrentUsers / ProviderCost.usersPerGenerator))
        let bytes = sizing.demand.peakEgressBitsPerSecond / 8 * 3_600 * hours
        let month = sizing.demand.egressBytesPerMonth
        let edge = sizing.machines.edge
        let sent =
            book.egress.cost(bytes: month + bytes, machines: edge)
            - book.egress.cost(bytes: month, machines: edge)
        let started = hours.rounded(.up) / ProviderCost.hoursPerMonth
        return ProviderCost.LoadTest(
            hours: hours, generators: generators, egressBytes: bytes,
            cost: machines(generators, months: started) + inOne(sent))
    }
}
