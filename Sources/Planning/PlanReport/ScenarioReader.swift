import JSON
package import Model
package import Planner
import Text

/// Reads a scenario from JSON, strictly: rejects unknown fields and suggests the nearest known one.
package enum ScenarioReader {
    static let maxActions = 50
    package static let maxRenditions = 50

    /// Throws `input.malformed` and `input.field` with line, column and field, the given and the
    /// allowed value. `Scenario.check` finds contradictory values.
    package static func read(_ bytes: [UInt8]) throws(Failure) -> Scenario {
        var scenario = Scenario()
        var cursor = JSONCursor(bytes)
        _ = try cursor.peek()
        try cursor.expect(.object, "scenario")
        try cursor.object { (cursor, name, offset) throws(Failure) in
            try readMember(&cursor, name, offset, into: &scenario)
        }
        try cursor.finish()
        return scenario
    }

    /// The groups of inputs.
    private static let groups: [String] = {
        var groups: [String] = []
        for row in ScenarioInput.table {
            let group = String(row.path.prefix { $0 != "." })
            if !groups.contains(group) { groups.append(group) }
        }
        return groups
    }()

    private static func readMember(
        _ cursor: inout JSONCursor, _ name: String, _ offset: Int, into scenario: inout Scenario
    ) throws(Failure) {
        switch name {
        case "name": scenario.name = try cursor.plainText("name", limit: 200)
        case "service": scenario.service = try choice(&cursor, name, ServiceKind.self)
        case "actions": scenario.actions = try readActions(&cursor)
        case _ where groups.contains(name):
            try cursor.expect(.object, name)
            try cursor.object { (cursor, field, offset) throws(Failure) in
                try readInput(&cursor, name, field, offset, into: &scenario)
            }
        default:
            throw unknown(
                cursor, name, offset, in: "", ["name", "service", "actions"] + groups)
        }
    }

    private static func readInput(
        _ cursor: inout JSONCursor, _ group: String, _ field: String, _ offset: Int,
        into scenario: inout Scenario
    ) throws(Failure) {
        let path = "\(group).\(field)"
        if let input = ScenarioInput.named(path) {
            scenario.given[input] = try estimate(
                &cursor, path, input.row.allowed, isWhole: input.row.isWhole, input.row.unit)
            return
        }
        switch path {
        case "media.ladderKilobitsPerSecond": scenario.ladder = try readLadder(&cursor, path)
        case "media.codec":
            scenario.codec = try choice(&cursor, path, VideoCodec.self)
        case "onDemand.correction":
            scenario.correction = try choice(&cursor, path, WaitingModel.Correction.self)
        case "money.provider": scenario.money.provider = try cursor.plainText(path, limit: 64)
        case "money.originProvider":
            scenario.money.originProvider = try cursor.plainText(path, limit: 64)
        case "money.currency": scenario.money.currency = try currency(&cursor, path)
        case "money.exchangeDate":
            scenario.money.exchangeDate = try MoneyText.date(&cursor, path)
        case "money.exchange": try readExchange(&cursor, path, into: &scenario)
        default: throw unknown(cursor, field, offset, in: group, fields(of: group))
        }
    }

    private static func fields(of group: String) -> [String] {
        let more = [
            "media": ["ladderKilobitsPerSecond", "codec"], "onDemand": ["correction"],
            "money": ["provider", "originProvider", "currency", "exchange", "exchangeDate"],
        ]
        let inputs = ScenarioInput.table.filter { $0.path.hasPrefix(group + ".") }
            .map { String($0.path.dropFirst(group.count + 1)) }
        return inputs + (more[group] ?? [])
    }

    /// Returns a failure with the nearest known name first, then all of them.
    static func unknown(
        _ cursor: JSONCursor, _ name: String, _ offset: Int, in path: String, _ known: [String]
    ) -> Failure {
        let nearest = suggestion(for: name, from: known).map { " (\($0))" } ?? ""
        return cursor.unknownField(
            name, at: offset, in: path, allowed: known.joined(separator: ", ") + nearest)
    }

    // MARK: Values

    /// Reads a number, or `{low, likely, high}`.
    static func estimate(
        _ cursor: inout JSONCursor, _ path: String, _ allowed: ClosedRange<Double>,
        isWhole: Bool = false, _ unit: String = ""
    ) throws(Failure) -> Estimate {
        let kind = try cursor.peek()
        let offset = cursor.index
        let estimate: Estimate
        switch kind {
        case .number: estimate = Estimate(try number(&cursor, path))
        case .object: estimate = try threePoints(&cursor, path)
        default:
            throw cursor.fieldFailure(
                at: offset, path, "given \(kind.rawValue)",
                allowed: "a number, or {\"low\", \"likely\", \"high\"}")
        }
        do {
            try Scenario.check(estimate, path, allowed: allowed, isWhole: isWhole, unit: unit)
        } catch {
            throw cursor.fieldFailure(
                at: offset, error.field, "given \(error.given)", allowed: error.allowed)
        }
        return estimate
    }

    private static func threePoints(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> Estimate {
        let start = cursor.index
        var points: [String: Double] = [:]
        let names = ["low", "likely", "high"]
        try cursor.object { (cursor, name, offset) throws(Failure) in
            guard names.contains(name) else { throw unknown(cursor, name, offset, in: path, names) }
            try cursor.expect(.number, "\(path).\(name)")
            points[name] = try number(&cursor, "\(path).\(name)")
        }
        guard let low = points["low"], let likely = points["likely"], let high = points["high"]
        else {
            let missing = names.filter { points[$0] == nil }.joined(separator: ", ")
            throw cursor.fieldFailure(
                at: start, path, "without \(missing)", allowed: "low, likely and high")
        }
        return Estimate(low: low, likely: likely, high: high)
    }

    static func number(_ cursor: inout JSONCursor, _ path: String) throws(Failure) -> Double {
        let offset = cursor.index
        let text = try cursor.number()
        guard let value = Double(text), value.isFinite else {
            throw cursor.fieldFailure(
                at: offset, path, "given \(text.prefix(40))", allowed: "a number up to 1e308")
        }
        return value
    }

    static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ cursor: inout JSONCursor, _ path: String, _ type: Choice.Type
    ) throws(Failure) -> Choice {
        let offset = cursor.index
        let text = try cursor.plainText(path, limit: 64)
        if let choice = Choice(rawValue: text) { return choice }
        let all = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        throw cursor.fieldFailure(at: offset, path, "given \"\(text)\"", allowed: all)
    }

    static func currency(_ cursor: inout JSONCursor, _ path: String) throws(Failure) -> String {
        let offset = cursor.index
        let text = try cursor.plainText(path, limit: 64)
        guard MoneyText.isCurrency(text) else {
            throw cursor.fieldFailure(
                at: offset, path, "given \"\(text)\"",
                allowed: "three capital letters (ISO 4217): EUR")
        }
        return text
    }
}

// MARK: Lists

extension ScenarioReader {
    static func readLadder(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> [Double] {
        try cursor.expect(.array, path)
        let start = cursor.index
        var rates: [Double] = []
        try cursor.array { (cursor) throws(Failure) in
            let rate = try estimate(
                &cursor, "\(path)[\(rates.count)]", ScenarioInput.kilobitsPerSecond.row.allowed,
                "kbit/s")
            guard rate.isExact else {
                throw cursor.fieldFailure(
                    at: start, path, "given a range", allowed: "one number a rendition")
            }
            rates.append(rate.likely)
            try limit(cursor, start, path, rates.count, maxRenditions)
        }
        guard !rates.isEmpty else {
            throw cursor.fieldFailure(at: start, path, "is empty", allowed: "one rate at least")
        }
        return rates.sorted()
    }

    private static func limit(
        _ cursor: JSONCursor, _ offset: Int, _ path: String, _ count: Int, _ most: Int
    ) throws(Failure) {
        guard count > most else { return }
        throw cursor.fieldFailure(
            at: offset, path, "has more than \(most)", allowed: "up to \(most) elements")
    }

    private static func readActions(
        _ cursor: inout JSONCursor
    ) throws(Failure) -> [Scenario.UserAction] {
        try cursor.expect(.array, "actions")
        let start = cursor.index
        var actions: [Scenario.UserAction] = []
        try cursor.array { (cursor) throws(Failure) in
            actions.append(try readAction(&cursor, "actions[\(actions.count)]"))
            try limit(cursor, start, "actions", actions.count, maxActions)
        }
        return actions
    }

    private static func readAction(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> Scenario.UserAction {
        try cursor.expect(.object, path)
        let start = cursor.index
        var action = Scenario.UserAction(
            name: "", perDay: Estimate(0), requests: Estimate(1), bytes: Estimate(0))
        var hasTimes = false
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "name": action.name = try cursor.plainText(field, limit: 64)
            case "perDay":
                action.perDay = try estimate(&cursor, field, 0...1e6)
                hasTimes = true
            case "requests": action.requests = try estimate(&cursor, field, 0...1e6)
            case "bytes": action.bytes = try estimate(&cursor, field, 0...1e13)
            default:
                throw unknown(
                    cursor, name, offset, in: path, ["name", "perDay", "requests", "bytes"])
            }
        }
        guard !action.name.isEmpty, hasTimes else {
            throw cursor.fieldFailure(
                at: start, path, "without \(action.name.isEmpty ? "name" : "perDay")",
                allowed: "name, perDay, and requests (1) and bytes (0)")
        }
        return action
    }

    private static func readExchange(
        _ cursor: inout JSONCursor, _ path: String, into scenario: inout Scenario
    ) throws(Failure) {
        try cursor.expect(.object, path)
        try cursor.object { (cursor, name, offset) throws(Failure) in
            guard MoneyText.isCurrency(name) else {
                throw unknown(cursor, name, offset, in: path, ["EUR", "USD", "CNY"])
            }
            let rate = try estimate(&cursor, "\(path).\(name)", 1e-9...1e9)
            scenario.money.exchange[name] = rate.likely
        }
    }
}
