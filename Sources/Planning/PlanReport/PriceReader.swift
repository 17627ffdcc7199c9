import JSON
package import Model
package import Planner

/// Reads price files, including the embedded ones.
package enum PriceReader {
    static let maxTiers = 50
    private static let maxKinds = 20

    /// Returns the prices that come with Dray, ordered by name.
    package static func embedded() throws(Failure) -> [PriceBook] {
        let files: [(String, [UInt8])] = [
            ("alibaba.json", PackageResources.alibaba_json),
            ("aws.json", PackageResources.aws_json),
            ("gcp.json", PackageResources.gcp_json),
            ("hetzner.json", PackageResources.hetzner_json),
            ("on-premises.json", PackageResources.on_premises_json),
        ]
        var books: [PriceBook] = []
        for (name, bytes) in files {
            do throws(Failure) {
                books.append(try read(bytes))
            } catch {
                throw Failure(error.code, "\(name): \(error.message)")
            }
        }
        return books
    }

    /// Throws `input.malformed` and `input.field` with line, column and field.
    package static func read(_ bytes: [UInt8]) throws(Failure) -> PriceBook {
        var cursor = JSONCursor(bytes)
        var reading = Reading()
        _ = try cursor.peek()
        try cursor.expect(.object, "prices")
        let start = cursor.index
        try cursor.object { (cursor, name, offset) throws(Failure) in
            try reading.member(&cursor, name, offset)
        }
        try cursor.finish()
        guard let id = reading.id, let name = reading.name, let instance = reading.instance,
            let storage = reading.storage, let egress = reading.egress
        else {
            throw cursor.fieldFailure(
                at: start, "prices", "without \(reading.missing)",
                allowed: Reading.names.joined(separator: ", "))
        }
        return PriceBook(
            id: id, name: name, instance: instance, edgeServers: reading.edgeServers,
            storage: storage, egress: egress)
    }

    private struct Reading {
        static let names = ["provider", "name", "instance", "storage", "egress"]
        static let known = names + ["edgeServers"]
        var id: String?
        var name: String?
        var instance: PriceBook.Instance?
        var edgeServers: [PriceBook.Instance] = []
        var storage: PriceBook.Storage?
        var egress: PriceBook.Egress?

        var missing: String {
            let isThere = [id != nil, name != nil, instance != nil, storage != nil, egress != nil]
            return zip(Self.names, isThere).filter { !$0.1 }.map(\.0).joined(separator: ", ")
        }

        mutating func member(
            _ cursor: inout JSONCursor, _ name: String, _ offset: Int
        ) throws(Failure) {
            switch name {
            case "provider": id = try PriceReader.identifier(&cursor, name)
            case "name": self.name = try cursor.plainText(name, limit: 100)
            case "instance": instance = try PriceReader.instance(&cursor, name)
            case "edgeServers": edgeServers = try PriceReader.edgeServers(&cursor)
            case "storage": storage = try PriceReader.storage(&cursor)
            case "egress": egress = try PriceReader.egress(&cursor)
            default: throw ScenarioReader.unknown(cursor, name, offset, in: "", Self.known)
            }
        }
    }

    static func identifier(
        _ cursor: inout JSONCursor, _ field: String
    ) throws(Failure) -> String {
        let offset = cursor.index
        let text = try cursor.plainText(field, limit: 64)
        let isRight = text.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
        }
        guard isRight else {
            throw cursor.fieldFailure(
                at: offset, field, "given \"\(text)\"",
                allowed: "lower-case letters, digits and hyphens")
        }
        return text
    }

    private static func edgeServers(
        _ cursor: inout JSONCursor
    ) throws(Failure) -> [PriceBook.Instance] {
        try cursor.expect(.array, "edgeServers")
        let start = cursor.index
        var kinds: [PriceBook.Instance] = []
        try cursor.array { (cursor) throws(Failure) in
            let path = "edgeServers[\(kinds.count)]"
            kinds.append(try instance(&cursor, path))
            guard kinds.count <= maxKinds else {
                throw cursor.fieldFailure(
                    at: start, "edgeServers", "has more than \(maxKinds)",
                    allowed: "up to \(maxKinds) elements")
            }
        }
        return kinds
    }

    private static func instance(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> PriceBook.Instance {
        let names = ["type", "cores", "memoryGigabytes", "month"]
        let known = names + ["nicMegabitsPerSecond"]
        try cursor.expect(.object, path)
        let start = cursor.index
        var type: String?
        var (cores, memory, nic): (Double?, Double?, Double?) = (nil, nil, nil)
        var price: PriceBook.Price?
        try cursor.object { (cursor, name, offset) throws(Failure) in
            switch name {
            case "type": type = try cursor.plainText("\(path).type", limit: 100)
            case "cores": cores = try cursor.decimalNumber("\(path).cores", 0.1...4_096)
            case "memoryGigabytes":
                memory = try cursor.decimalNumber("\(path).memoryGigabytes", 0.1...100_000)
            case "nicMegabitsPerSecond":
                nic = try cursor.decimalNumber("\(path).nicMegabitsPerSecond", 1...1e7)
            case "month": price = try MoneyText.price(&cursor, "\(path).month")
            default: throw ScenarioReader.unknown(cursor, name, offset, in: path, known)
            }
        }
        guard let type, let cores, let memory, let price else {
            throw cursor.fieldFailure(
                at: start, path, "is not whole", allowed: names.joined(separator: ", "))
        }
        return PriceBook.Instance(
            type: type, cores: cores, memoryGigabytes: memory, nicMegabitsPerSecond: nic,
            perMonth: price)
    }

    private static func storage(_ cursor: inout JSONCursor) throws(Failure) -> PriceBook.Storage {
        let names = ["type", "unit", "unitMonth"]
        try cursor.expect(.object, "storage")
        let start = cursor.index
        var type: String?
        var unit: PriceBook.Unit?
        var price: PriceBook.Price?
        try cursor.object { (cursor, name, offset) throws(Failure) in
            switch name {
            case "type": type = try cursor.plainText("storage.type", limit: 100)
            case "unit":
                unit = try ScenarioReader.choice(&cursor, "storage.unit", PriceBook.Unit.self)
            case "unitMonth": price = try MoneyText.price(&cursor, "storage.unitMonth")
            default: throw ScenarioReader.unknown(cursor, name, offset, in: "storage", names)
            }
        }
        guard let type, let unit, let price else {
            throw cursor.fieldFailure(
                at: start, "storage", "is not whole", allowed: names.joined(separator: ", "))
        }
        return PriceBook.Storage(type: type, unit: unit, perUnitMonth: price)
    }

    private static func egress(_ cursor: inout JSONCursor) throws(Failure) -> PriceBook.Egress {
        let names = ["unit", "includedPerMachine", "tiers"]
        try cursor.expect(.object, "egress")
        let start = cursor.index
        var unit: PriceBook.Unit?
        var included = 0.0
        var tiers: [PriceBook.Tier] = []
        try cursor.object { (cursor, name, offset) throws(Failure) in
            switch name {
            case "unit":
                unit = try ScenarioReader.choice(&cursor, "egress.unit", PriceBook.Unit.self)
            case "includedPerMachine":
                included = try cursor.decimalNumber("egress.includedPerMachine", 0...1e9)
            case "tiers": tiers = try readTiers(&cursor, "egress.tiers")
            default: throw ScenarioReader.unknown(cursor, name, offset, in: "egress", names)
            }
        }
        guard let unit, !tiers.isEmpty else {
            throw cursor.fieldFailure(
                at: start, "egress", "is not whole", allowed: names.joined(separator: ", "))
        }
        return PriceBook.Egress(unit: unit, includedPerMachine: included, tiers: tiers)
    }

    /// Reads tiers with ascending upper bounds; the last one has none.
    static func readTiers(
        _ cursor: inout JSONCursor, _ field: String
    ) throws(Failure) -> [PriceBook.Tier] {
        try cursor.expect(.array, field)
        let start = cursor.index
        var tiers: [PriceBook.Tier] = []
        try cursor.array { (cursor) throws(Failure) in
            let path = "\(field)[\(tiers.count)]"
            let offset = cursor.index
            let tier = try readTier(&cursor, path)
            let before = tiers.last?.upTo ?? (tiers.isEmpty ? 0 : .infinity)
            guard before < tier.upTo ?? .infinity, tiers.count < maxTiers else {
                throw cursor.fieldFailure(
                    at: offset, "\(path).upTo",
                    "given \(tier.upTo.map { Scenario.plain($0) } ?? "none")",
                    allowed: "more than the previous tier; at most \(maxTiers) tiers")
            }
            tiers.append(tier)
        }
        guard let last = tiers.last, last.upTo == nil else {
            throw cursor.fieldFailure(
                at: start, field, "the last tier has `upTo`",
                allowed: "a last tier without upTo")
        }
        return tiers
    }

    private static func readTier(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> PriceBook.Tier {
        try cursor.expect(.object, path)
        let start = cursor.index
        var upTo: Double?
        var price: PriceBook.Price?
        try cursor.object { (cursor, name, offset) throws(Failure) in
            switch name {
            case "upTo": upTo = try cursor.decimalNumber("\(path).upTo", 1e-6...1e12)
            case "price": price = try MoneyText.price(&cursor, "\(path).price")
            default:
                throw ScenarioReader.unknown(cursor, name, offset, in: path, ["upTo", "price"])
            }
        }
        guard let price else {
            throw cursor.fieldFailure(
                at: start, path, "without price", allowed: "price, and upTo except in the last tier"
            )
        }
        return PriceBook.Tier(upTo: upTo, perUnit: price)
    }
}
