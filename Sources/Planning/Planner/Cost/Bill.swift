/// The amounts behind a cost.
struct Bill {
    private let choice: Scenario.MoneyChoice
    private let values: ScenarioValues
    private let sizing: Sizing
    private let book: PriceBook
    private let origin: PriceBook
    /// Machines for workers.
    let workers: Int
    private let barelyNeeded: Int
    let edge: EdgePurchase
    /// Fraction of the workers that stays when the pool is scaled.
    private let alwaysThere: Double

    /// Returns nil if no pool suffices: it has no price.
    init?(
        _ choice: Scenario.MoneyChoice, _ values: ScenarioValues, _ sizing: Sizing,
        _ book: PriceBook, _ origin: PriceBook
    ) {
        self.choice = choice
        self.values = values
        self.sizing = sizing
        self.book = book
        self.origin = origin
        guard let workers = sizing.machines.workers, let total = sizing.workers.total,
            let always = sizing.workers.alwaysThere,
            let barelyNeeded = sizing.workers.barelyNeeded
        else { return nil }
        self.workers = workers
        alwaysThere = Double(always) / Double(max(1, total))
        self.barelyNeeded = barelyNeeded
        edge = EdgePurchase(values, Sizing.Edge.Load(values, sizing.demand), book, choice)
    }

    private func inOne(_ money: Money) -> Money {
        money.converted(to: choice.currency, rates: choice.exchange)
    }

    /// Returns the number of a provider's instances per machine of the plan, by cores, memory and
    /// network. Larger instances of a family cost, and carry, in proportion.
    private func instances(of book: PriceBook) -> Int {
        let instance = book.instance
        return max(
            1,
            wholeUp(
                max(
                    values[.machineCores] / instance.cores,
                    values[.memoryGigabytes] / instance.memoryGigabytes,
                    instance.nicMegabitsPerSecond.map { values[.nicMegabits] / $0 } ?? 0)))
    }

    /// Returns the monthly price of `count` machines of the plan.
    func machines(_ count: Int, months: Double = 1) -> Money {
        inOne(book.instance.perMonth.times(Double(count * instances(of: book)) * months))
    }

    /// The monthly price of the edge servers.
    var edgeServers: Money { inOne(edge.perMonth) }

    private var storage: Money {
        inOne(
            book.storage.perUnitMonth.times(
                sizing.demand.edgeStorageBytes / book.storage.unit.bytes))
    }

    private var egress: Money {
        inOne(
            book.egress.cost(
                bytes: sizing.demand.egressBytesPerMonth, machines: edge.servers))
    }

    /// Bytes per month from the origin to workers.
    private var originBytes: Double {
        let demand = sizing.demand
        let missesPerMonth = demand.meanMissesPerSecond * 86_400 * Demand.daysPerMonth
        return demand.fillBytesPerDay * values[.attempts] * Demand.daysPerMonth
            + missesPerMonth * demand.missBytes
    }

    /// Tiers count all traffic out of one provider: units that viewers have used are not available
    /// to the origin again.
    private var originEgress: Money {
        inOne(
            origin.egress.cost(
                bytes: originBytes, machines: 1, after: origin.id == book.id ? viewersUnits : 0))
    }

    /// Paid units of the viewers' traffic.
    private var viewersUnits: Double {
        book.egress.billable(
            bytes: sizing.demand.egressBytesPerMonth, machines: edge.servers)
    }

    var items: [ProviderCost.Item] {
        let machines = sizing.machines
        let each = instances(of: book)
        let size = each == 1 ? "" : " of \(each) × \(book.instance.type)"
        func item(_ name: String, _ count: Int) -> ProviderCost.Item {
            ProviderCost.Item(
                name: name, count: "\(Scenario.grouped(Double(count))) machines\(size)",
                cost: self.machines(count))
        }
        return [
            item("workers", workers), item("coordinators", machines.coordinators),
            item("database", machines.database),
            ProviderCost.Item(
                name: "edge servers",
                count: "\(Scenario.grouped(Double(edge.servers))) × \(edge.instance.type)",
                cost: edgeServers),
            ProviderCost.Item(
                name: "edge storage", count: Bill.terabytes(sizing.demand.edgeStorageBytes),
                cost: storage),
            ProviderCost.Item(
                name: "egress to viewers", count: Bill.terabytes(sizing.demand.egressBytesPerMonth),
                cost: egress),
            ProviderCost.Item(
                name: "egress of the origin",
                count: Bill.terabytes(originBytes)
                    + (origin.id == book.id ? ", in the tiers after the viewers'" : ""),
                cost: originEgress),
        ]
    }

    static func terabytes(_ bytes: Double) -> String {
        let terabytes = bytes / 1e12
        // Whole ones from 1,000 on, else GB as well.
        let rounded = terabytes < 1_000 ? (bytes / 1e9).rounded() / 1_000 : terabytes.rounded()
        return "\(Scenario.grouped(rounded)) TB"
    }

    /// The part of the monthly cost by assumed prices.
    var assumed: Money {
        func part(_ prices: [PriceBook.Price], _ cost: Money) -> Money {
            prices.contains(where: \.isAssumption) ? cost : Money()
        }
        let machines = sizing.machines
        let count = workers + machines.coordinators + machines.database
        return part([book.instance.perMonth], self.machines(count))
            + part([edge.instance.perMonth], edgeServers)
            + part([book.storage.perUnitMonth], storage)
            + part(book.egress.tiers.map(\.perUnit), egress)
            + part(origin.egress.tiers.map(\.perUnit), originEgress)
    }

    /// The prices in use.
    var prices: [(what: String, price: PriceBook.Price)] {
        let own = [book.instance]
        let machines = edge.instance == book.instance ? own : own + [edge.instance]
        return machines.map { ("\($0.type), a month", $0.perMonth) }
            + [
                (
                    "\(book.storage.type), a \(book.storage.unit.rawValue) and month",
                    book.storage.perUnitMonth
                )
            ] + book.egress.prices
    }

    var total: Money { items.reduce(Money()) { $0 + $1.cost } }

    /// The total without texts and up to rounding, calculated thousands of times.
    var quickTotal: Money {
        let machines = sizing.machines
        let count = workers + machines.coordinators + machines.database
        return self.machines(count) + edgeServers + storage + egress + originEgress
    }

    /// The cost of fetching bytes to the edge per terabyte.
    var perTerabyte: Money? {
        let bytes = sizing.demand.fillBytesPerDay * Demand.daysPerMonth
        guard bytes > 0 else { return nil }
        let machines = sizing.machines
        let sum =
            self.machines(workers + machines.coordinators + machines.database)
            + originEgress
        // Misses use the same path but are not prefetched.
        return sum * (bytes * values[.attempts] / originBytes) / (bytes / 1e12)
    }

    /// Workers by the hour: all during the fill, otherwise those that always run.
    var scaled: Money {
        let share = min(1, values[.deadlineHours] / 24)
        return total - machines(workers) * ((1 - share) * (1 - alwaysThere))
    }

    var overProvisioning: Money {
        let cores = WorkerSpeed.cores(values) / values[.machineCores]
        let barely = wholeUp(Double(barelyNeeded) * cores)
        let spareEdge = edge.servers - edge.barelyNeeded
        return machines(
            workers - barely + sizing.machines.database / 2 + sizing.machines.coordinators / 2)
            + edgeServers * (Double(spareEdge) / Double(max(1, edge.servers)))
    }

    /// Servers like the edge's at the origin, and all egress from there.
    var deviceSide: ProviderCost.DeviceSide {
        let demand = sizing.demand
        let own = EdgePurchase(values, Sizing.Edge.Load(values, demand), origin, choice)
        let servers = own.servers
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
            perMonth: inOne(own.perMonth) + inOne(sent),
            originServers: servers, deviceHours: seconds / 3_600,
            originShare: shares.compactMap { $0 }.max())
    }

    /// Generators for the peak, and the additional egress of the edge.
    var loadTest: ProviderCost.LoadTest {
        let hours = values[.loadTestHours]
        let demand = sizing.demand
        let generators = max(
            1, wholeUp(demand.peakConcurrentUsers / ProviderCost.usersPerGenerator),
            wholeUp(demand.peakEgressBitsPerSecond / (values[.nicMegabits] * 1e6)))
        let bytes = sizing.demand.peakEgressBitsPerSecond / 8 * 3_600 * hours
        let month = sizing.demand.egressBytesPerMonth
        let origin =
            self.origin.id == book.id
            ? book.egress.billable(bytes: originBytes, machines: 1) : 0
        let sent =
            book.egress.cost(bytes: month + bytes, machines: edge.servers, after: origin)
            - book.egress.cost(bytes: month, machines: edge.servers, after: origin)
        let started = hours.rounded(.up) / ProviderCost.hoursPerMonth
        return ProviderCost.LoadTest(
            hours: hours, generators: generators, egressBytes: bytes,
            cost: machines(generators, months: started) + inOne(sent))
    }
}
