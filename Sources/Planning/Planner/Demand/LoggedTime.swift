/// Finds the request time among the fields after a combined log line.
///
/// A named field comes first (`rt=0.123`, as nginx's documentation names `$request_time`;
/// `D=123456`). Otherwise it is the last number. One with a point is in seconds, as nginx's
/// `$request_time`, and takes precedence. A whole number is in microseconds, as Apache's `%D`, or
/// in seconds, as its `%T`; the whole log shows which.
struct LoggedTime {
    /// The unit of a whole number.
    enum Unit {
        case seconds, microseconds

        func seconds(_ number: Double) -> Double { self == .seconds ? number : number / 1e6 }
    }

    private var named: Double?
    private var fraction: Double?
    /// The last whole number, if no time in seconds was found.
    private var lastWhole: Double?

    private static let names: Set<String> = [
        "rt", "request_time", "request-time", "reqtime", "time", "time_taken", "duration", "took",
    ]

    /// In seconds, if known.
    var seconds: Double? { named ?? fraction }
    /// A number whose unit a single line does not show; nil if the time is known or missing.
    var whole: Double? { seconds == nil ? lastWhole : nil }

    mutating func take(_ field: ArraySlice<UInt8>) {
        guard let sign = field.firstIndex(of: UInt8(ascii: "=")) else {
            return takeNumber(field)
        }
        let name = String(decoding: field[..<sign], as: UTF8.self)
        var digits = field[(sign + 1)...]
        if digits.first == UInt8(ascii: "\"") { digits = digits.dropFirst().prefix { $0 != 0x22 } }
        if name == "D" || name == "T" {
            guard let number = Self.number(digits) else { return }
            named = (name == "D" ? Unit.microseconds : .seconds).seconds(number)
        } else if Self.names.contains(name.lowercased()) {
            guard let number = Self.number(digits) else { return }
            if Self.hasPoint(digits) { named = number } else { lastWhole = number }
        }
    }

    private mutating func takeNumber(_ digits: ArraySlice<UInt8>) {
        guard let number = Self.number(digits) else { return }
        if Self.hasPoint(digits) { fraction = number } else { lastWhole = number }
    }

    private static func hasPoint(_ digits: ArraySlice<UInt8>) -> Bool {
        digits.contains(UInt8(ascii: "."))
    }

    /// Parses digits with at most one point; nil for others, such as addresses and versions.
    private static func number(_ digits: ArraySlice<UInt8>) -> Double? {
        guard let first = digits.first, isDigit(first), digits.count < 20,
            digits.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") })
        else { return nil }
        return Double(String(decoding: digits, as: UTF8.self)).flatMap { $0 < 1e15 ? $0 : nil }
    }

    /// Infers the unit from the median: no server's is below 30 µs, and none's reaches 30 s.
    static func unit(of numbers: [Double]) -> Unit {
        let sorted = numbers.sorted()
        return sorted.isEmpty || sorted[sorted.count / 2] >= 30 ? .microseconds : .seconds
    }
}
