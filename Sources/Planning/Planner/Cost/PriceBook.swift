/// A provider's prices for machines, storage and traffic, from a price file.
package struct PriceBook: Hashable, Sendable {
    /// `aws`: the value for `--provider`.
    package var id: String
    package var name: String
    /// The machine for workers, coordinators and database, which edge servers may be as well.
    package var instance: Instance
    /// Kinds of edge servers.
    package var edgeServers: [Instance]
    package var storage: Storage
    package var egress: Egress

    /// A price, with its source and date.
    package struct Price: Codable, Hashable, Sendable {
        package var amount: Double
        /// ISO 4217: `EUR`.
        package var currency: String
        /// Date of validity: `2026-10-28`, `2026-10` or `2026`.
        package var date: String
        package var source: String
        /// True for an assumption, which readers should replace with their own price.
        package var isAssumption: Bool
        /// True if the source has an address where readers can check the price.
        package var isCheckable: Bool { !isAssumption && source.contains("https://") }

        package init(
            amount: Double, currency: String, date: String, source: String,
            isAssumption: Bool = false
        ) {
            self.amount = amount
            self.currency = currency
            self.date = date
            self.source = source
            self.isAssumption = isAssumption
        }
    }

    package struct Instance: Hashable, Sendable {
        package var type: String
        package var cores: Double
        package var memoryGigabytes: Double
        /// Bandwidth of its network interface; nil if unknown, which sets no limit.
        package var nicMegabitsPerSecond: Double?
        package var perMonth: Price

        package init(
            type: String, cores: Double, memoryGigabytes: Double,
            nicMegabitsPerSecond: Double? = nil, perMonth: Price
        ) {
            self.type = type
            self.cores = cores
            self.memoryGigabytes = memoryGigabytes
            self.nicMegabitsPerSecond = nicMegabitsPerSecond
            self.perMonth = perMonth
        }
    }

    package struct Storage: Hashable, Sendable {
        package var type: String
        /// The unit of the price: a GB, a GiB or a TB.
        package var unit: Unit
        package var perUnitMonth: Price

        package init(type: String, unit: Unit, perUnitMonth: Price) {
            self.type = type
            self.unit = unit
            self.perUnitMonth = perUnitMonth
        }
    }

    package struct Egress: Hashable, Sendable {
        package var unit: Unit
        /// Free units per machine and month.
        package var includedPerMachine: Double
        /// In ascending order; the last has no upper bound.
        package var tiers: [Tier]

        package init(unit: Unit, includedPerMachine: Double, tiers: [Tier]) {
            self.unit = unit
            self.includedPerMachine = includedPerMachine
            self.tiers = tiers
        }
    }

    package struct Tier: Hashable, Sendable {
        /// Upper bound in units per month, counted from 0; nil for no bound.
        package var upTo: Double?
        package var perUnit: Price

        package init(upTo: Double?, perUnit: Price) {
            self.upTo = upTo
            self.perUnit = perUnit
        }
    }

    package enum Unit: String, Codable, CaseIterable, Sendable {
        case gigabyte = "GB"
        case gibibyte = "GiB"
        case terabyte = "TB"
        case tebibyte = "TiB"

        package var bytes: Double {
            switch self {
            case .gigabyte: 1e9
            case .gibibyte: 1_073_741_824
            case .terabyte: 1e12
            case .tebibyte: 1_099_511_627_776
            }
        }
    }

    package init(
        id: String, name: String, instance: Instance, edgeServers: [Instance] = [],
        storage: Storage, egress: Egress
    ) {
        self.id = id
        self.name = name
        self.instance = instance
        self.edgeServers = edgeServers
        self.storage = storage
        self.egress = egress
    }

    /// All its prices with their items.
    package var prices: [(what: String, price: Price)] {
        ([instance] + edgeServers).map { ("\($0.type), a month", $0.perMonth) }
            + [("\(storage.type), a \(storage.unit.rawValue) and month", storage.perUnitMonth)]
            + egress.prices
    }
}

extension PriceBook.Egress {
    /// Its prices, tier by tier.
    package var prices: [(what: String, price: PriceBook.Price)] {
        tiers.map { tier in
            let end = tier.upTo.map { "up to \(Scenario.grouped($0))" } ?? "beyond"
            return ("egress, a \(unit.rawValue), \(end)", tier.perUnit)
        }
    }
}

/// Amounts by currency; different currencies are added only after conversion.
package struct Money: Codable, Hashable, Sendable {
    /// By currency.
    package private(set) var amounts: [String: Double]

    package init(_ amounts: [String: Double] = [:]) { self.amounts = amounts }

    package init(_ amount: Double, _ currency: String) { amounts = [currency: amount] }

    package static func + (left: Money, right: Money) -> Money {
        Money(left.amounts.merging(right.amounts, uniquingKeysWith: +))
    }

    package static func - (left: Money, right: Money) -> Money { left + right * -1 }

    package static func * (money: Money, factor: Double) -> Money {
        Money(money.amounts.mapValues { $0 * factor })
    }

    package static func / (money: Money, divisor: Double) -> Money { money * (1 / divisor) }

    /// Converts all amounts with a rate to one currency; others stay unchanged.
    package func converted(to currency: String?, rates: [String: Double]) -> Money {
        guard let currency else { return self }
        return amounts.reduce(into: Money()) { sum, part in
            guard part.key != currency, let rate = rates[part.key] else {
                sum = sum + Money(part.value, part.key)
                return
            }
            sum = sum + Money(part.value * rate, currency)
        }
    }

    package init(from decoder: any Decoder) throws {
        amounts = try decoder.singleValueContainer().decode([String: Double].self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(amounts)
    }
}

extension PriceBook.Price {
    func times(_ count: Double) -> Money { Money(amount * count, currency) }
}

extension PriceBook.Egress {
    /// Returns the monthly cost of `bytes` from `machines` machines, tier by tier. The first
    /// `after` units of the tiers are already used.
    package func cost(bytes: Double, machines: Int, after before: Double = 0) -> Money {
        let units = billable(bytes: bytes, machines: machines)
        var start = 0.0
        var amounts: [String: Double] = [:]
        for tier in tiers {
            let end = tier.upTo ?? .infinity
            let part = max(0, min(end, before + units) - max(start, before))
            amounts[tier.perUnit.currency, default: 0] += tier.perUnit.amount * part
            start = end
            if start >= before + units { break }
        }
        return Money(amounts)
    }

    /// Returns the units beyond the machines' free ones.
    package func billable(bytes: Double, machines: Int) -> Double {
        max(0, bytes / unit.bytes - includedPerMachine * Double(machines))
    }
}
