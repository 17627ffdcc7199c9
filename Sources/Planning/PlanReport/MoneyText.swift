import JSON
import Model
package import Planner
import Rendering

/// Money, currencies and dates as text.
package enum MoneyText {
    /// Returns true for an ISO 4217 code: three capital letters.
    package static func isCurrency(_ text: String) -> Bool {
        text.utf8.count == 3 && text.utf8.allSatisfy { (0x41...0x5A).contains($0) }
    }

    /// Returns true for `2026-10-28`, `2026-10` or `2026`.
    static func isDate(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count), parts[0].count == 4,
            parts.dropFirst().allSatisfy({ $0.count == 2 }),
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { return false }
        let numbers = parts.compactMap { Int($0) }
        return (1_970...2_199).contains(numbers[0])
            && (numbers.count < 2 || (1...12).contains(numbers[1]))
            && (numbers.count < 3 || (1...31).contains(numbers[2]))
    }

    static func date(_ cursor: inout JSONCursor, _ path: String) throws(Failure) -> String {
        let offset = cursor.index
        let text = try cursor.plainText(path, limit: 64)
        guard isDate(text) else {
            throw cursor.fieldFailure(
                at: offset, path, "given \"\(text)\"", allowed: "a date: 2026-10-28")
        }
        return text
    }

    /// Reads `{amount, currency, date, source, assumption}`; only the last is optional.
    static func price(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> PriceBook.Price {
        let names = ["amount", "currency", "date", "source", "assumption"]
        try cursor.expect(.object, path)
        let start = cursor.index
        var amount: Double?
        var (currency, date, source): (String?, String?, String?) = (nil, nil, nil)
        var isAssumption = false
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "amount": amount = try cursor.decimalNumber(field, 0...1e12)
            case "currency": currency = try ScenarioReader.currency(&cursor, field)
            case "date": date = try MoneyText.date(&cursor, field)
            case "source": source = try cursor.plainText(field, limit: 500)
            case "assumption": isAssumption = try cursor.boolean(field)
            default: throw ScenarioReader.unknown(cursor, name, offset, in: path, names)
            }
        }
        guard let amount, let currency, let date, let source else {
            let isThere = [amount != nil, currency != nil, date != nil, source != nil]
            let missing = zip(names, isThere).filter { !$0.1 }.map(\.0).joined(separator: ", ")
            throw cursor.fieldFailure(
                at: start, path, "without \(missing)", allowed: names.joined(separator: ", "))
        }
        return PriceBook.Price(
            amount: amount, currency: currency, date: date, source: source,
            isAssumption: isAssumption)
    }

    /// Formats money: `1,234.50 EUR + 12.00 USD`.
    package static func text(_ money: Money) -> String {
        let parts = money.amounts.filter { $0.value != 0 }.sorted { $0.key < $1.key }
        guard !parts.isEmpty else {
            return money.amounts.keys.sorted().first.map { "0.00 \($0)" } ?? "0"
        }
        return parts.map { "\(amount($0.value)) \($0.key)" }.joined(separator: " + ")
    }

    /// Formats an amount with grouped thousands and two decimals; four below one, none from 100,000
    /// on.
    static func amount(_ value: Double) -> String {
        let size = abs(value)
        let places = size >= 100_000 ? 0 : size >= 1 ? 2 : 4
        let text = HumanFormat.fixed(size, places: places)
        let point = text.firstIndex(of: ".") ?? text.endIndex
        let whole = Int(text[..<point]).map { HumanFormat.count($0) } ?? String(text[..<point])
        return (value < 0 ? "−" : "") + whole + text[point...]
    }
}
