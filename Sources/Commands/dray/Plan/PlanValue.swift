import CommandLine
import PlanReport
import Planner
import Text

/// Values of `dray plan`'s options.
enum PlanValue {
    /// Reads bit rates such as `1100,3000,6000`, and sorts them.
    static func ladder(_ text: String) throws(UsageError) -> [Double] {
        let allowed = ScenarioInput.kilobitsPerSecond.row.allowed
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        let rates = parts.compactMap { number($0) }.filter(allowed.contains)
        guard rates.count == parts.count, rates.count <= ScenarioReader.maxRenditions else {
            throw UsageError(
                "--ladder is '\(printable(String(text.prefix(100))))'",
                hint: "Write 1 to \(ScenarioReader.maxRenditions) rates in kbit/s, "
                    + "\(Scenario.plain(allowed.lowerBound)) to "
                    + "\(Scenario.plain(allowed.upperBound)): 1100,3000,6000.")
        }
        return rates.sorted()
    }

    /// Reads `5`, `5%` or `1:5:9`.
    static func estimate(
        _ text: String, _ input: ScenarioInput, _ option: String
    ) throws -> Estimate {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(number)
        let numbers = parts.compactMap { $0 }
        if input.row.unit == "users",
            text.split(separator: ":").contains(where: GroupedNumber.isAmbiguous)
        {
            throw UsageError(
                "\(option) is '\(printable(String(text.prefix(40))))'",
                hint: "Write a number of users without a point: 30000, not 30.000.")
        }
        if text.contains("%"), !input.row.unit.isEmpty {
            throw UsageError(
                "\(option) is '\(printable(String(text.prefix(40))))', a share",
                hint: "Use a number\(inUnit(input))"
                    + (share(of: input).map {
                        ", or --set \($0.row.path)=\(printable(String(text.prefix(40))))."
                    } ?? "."))
        }
        guard numbers.count == parts.count, [1, 3].contains(numbers.count) else {
            throw UsageError(
                "\(option) is '\(printable(String(text.prefix(40))))'",
                hint: plainly(text, input).map { "Write \($0)." }
                    ?? "Use a number\(inUnit(input)), or three of them from the lowest to the "
                    + "highest: LOW:LIKELY:HIGH.")
        }
        let estimate =
            numbers.count == 1
            ? Estimate(numbers[0])
            : Estimate(low: numbers[0], likely: numbers[1], high: numbers[2])
        do {
            try Scenario.check(estimate, input)
        } catch {
            // As written: 10000%.
            let given = printable(String(text.prefix(40)))
            let isPercentage =
                input.row.unit.isEmpty && input.row.allowed.upperBound <= 1 && numbers.count == 1
                && (1...100).contains(numbers[0]) && !text.hasSuffix("%")
            throw UsageError(
                "\(option) is '\(given)'",
                hint: "\(error.field): \(error.allowed)."
                    + (isPercentage ? " A percentage has its sign: \(given)%." : ""))
        }
        return estimate
    }

    /// Returns the input that has the same amount as a share.
    private static func share(of input: ScenarioInput) -> ScenarioInput? {
        switch input {
        case .dailyActiveUsers: .dailyActiveShare
        case .peakConcurrentUsers: .peakShare
        default: nil
        }
    }

    static func number(_ text: Substring) -> Double? {
        let isPercent = text.hasSuffix("%")
        let digits = isPercent ? text.dropLast() : text
        // Double also parses hexadecimal, infinity and nan.
        guard !digits.isEmpty, digits.utf8.allSatisfy({ "0123456789.+-eE".utf8.contains($0) })
        else { return nil }
        return Double(digits).map { isPercent ? $0 / 100 : $0 }
    }

    /// Returns ` of users`, ` in kbit/s`; for a share that a percentage is allowed.
    private static func inUnit(_ input: ScenarioInput) -> String {
        let row = input.row
        switch row.unit {
        case "":
            return row.allowed.upperBound <= 1 ? " from 0 to 1, or a percentage such as 5%" : ""
        case "1/s": return " per second"
        case "users", "pixels": return " of \(row.unit)"
        default: return " in \(row.unit)"
        }
    }

    /// Prefixes of a number, as factors of the unit.
    private static func prefixes(of input: ScenarioInput) -> [String: Double] {
        switch input.row.unit {
        case "users": ["k": 1e3, "m": 1e6]
        case "kbit/s": ["k": 1, "m": 1e3, "g": 1e6]
        case "Mbit/s": ["k": 1e-3, "m": 1, "g": 1e3, "t": 1e6]
        case "GB": ["gb": 1, "tb": 1e3, "pb": 1e6]
        default: input == .titles ? ["k": 1e3, "m": 1e6] : [:]
        }
    }

    /// Returns `200000` for `200,000`, for `200k` of users or titles and for `200Gbit/s` in Mbit/s, and
    /// each number of a range so; nil for other text.
    private static func plainly(_ text: String, _ input: ScenarioInput) -> String? {
        let prefixes = prefixes(of: input)
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { part in
            var digits = part.lowercased()
            for unit in ["bit/s", "bps", "bit"] where digits.hasSuffix(unit) {
                guard input.row.unit.hasSuffix("bit/s") else { break }
                digits.removeLast(unit.count)
                break
            }
            let prefix = digits.drop { !$0.isLetter }
            let factor = prefix.isEmpty ? 1 : prefixes[String(prefix)]
            return factor.flatMap { factor in
                GroupedNumber.value(String(digits.dropLast(prefix.count))).map {
                    Scenario.plain($0 * factor)
                }
            }
        }
        let numbers = parts.compactMap(\.self)
        return numbers.count == parts.count && [1, 3].contains(numbers.count)
            ? numbers.joined(separator: ":") : nil
    }
}
