/// A bandwidth limit: none, a rate, or unlimited.
package enum Bandwidth: Hashable, Sendable {
    /// No transfer at all.
    case off
    /// Within `Bandwidth.allowed`.
    case bytesPerSecond(Int64)
    case unlimited

    /// Range from 8 kbit/s, below which no transfer ends within its timeout, to 10 Tbit/s.
    package static let allowed: ClosedRange<Int64> = 1_000...1_250_000_000_000

    /// The rate as a number; nil without a limit.
    package var limit: Int64? {
        switch self {
        case .off: 0
        case .bytesPerSecond(let rate): rate
        case .unlimited: nil
        }
    }

    /// Returns the lower of the two limits.
    package func capped(at most: Int64?) -> Bandwidth {
        guard let most, most < limit ?? .max else { return self }
        return most > 0 ? .bytesPerSecond(most) : .off
    }
}

// MARK: Text

extension Bandwidth {
    /// Parses `off`, `unlimited` or a rate: `200Mbit/s`, `1.5 Gbps`, `25MB/s`, `8MiB/s`.
    ///
    /// A single `b` before `/s` is rejected, because readers disagree whether it means bits or
    /// bytes. Throws `input.field` with the given and the allowed values.
    package init(_ text: String) throws(Failure) {
        switch text.lowercased() {
        case "off": self = .off
        case "unlimited": self = .unlimited
        default: self = .bytesPerSecond(try Self.rate(text))
        }
    }

    private static let units =
        "bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s"

    private static func rate(_ text: String) throws(Failure) -> Int64 {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        guard let thousandths = thousandths(digits) else {
            throw refused(text, "off, unlimited, or a number and its unit, as 200Mbit/s")
        }
        guard let bits = bits(ofUnit: String(unit)) else {
            throw refused(text, "a number with one of \(units)")
        }
        let (product, isTooLarge) = thousandths.multipliedReportingOverflow(by: bits)
        let bytes = product / 8_000
        guard !isTooLarge, allowed.contains(bytes) else {
            throw refused(text, "8kbit/s to 10Tbit/s, off for nothing, unlimited for everything")
        }
        return bytes
    }

    /// Returns a decimal number with up to three decimal places, times a thousand; nil for other
    /// text.
    private static func thousandths(_ digits: Substring) -> Int64? {
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), (1...15).contains(parts[0].count),
            let whole = Int64(parts[0])
        else { return nil }
        guard parts.count == 2 else { return whole * 1_000 }
        guard (1...3).contains(parts[1].count) else { return nil }
        let padded = parts[1] + String(repeating: "0", count: 3 - parts[1].count)
        return Int64(padded).map { whole * 1_000 + $0 }
    }

    /// Returns the bits per second of a unit; case matters only between bits and bytes.
    private static func bits(ofUnit unit: String) -> Int64? {
        let scales: [Character: Int64] = [
            "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "t": 1_000_000_000_000,
        ]
        let binary: [Character: Int64] = ["k": 1 << 10, "m": 1 << 20, "g": 1 << 30]
        var rest = Substring(unit)
        let prefix = rest.lowercased().first ?? " "
        guard let scale = scales[prefix] else { return bits(ofPlainUnit: rest) }
        rest.removeFirst()
        if rest == "iB/s" { return binary[prefix].map { $0 * 8 } }
        return bits(ofPlainUnit: rest).map { $0 * scale }
    }

    private static func bits(ofPlainUnit unit: Substring) -> Int64? {
        if unit == "B/s" { return 8 }
        return ["bit/s", "bps"].contains(unit.lowercased()) ? 1 : nil
    }

    private static func refused(_ given: String, _ allowed: String) -> Failure {
        Failure(.inputField, "'\(given.prefix(40))' was given; allowed: \(allowed).")
    }
}

extension Bandwidth: CustomStringConvertible {
    /// The shortest text that `init(_:)` reads as exactly this.
    package var description: String {
        switch self {
        case .off: "off"
        case .unlimited: "unlimited"
        case .bytesPerSecond(let bytes): Self.text(bytes)
        }
    }

    private static func text(_ bytes: Int64) -> String {
        let units: [(name: String, bits: Int64)] = [
            ("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000),
            ("GiB/s", 8 << 30), ("MiB/s", 8 << 20), ("KiB/s", 8 << 10), ("B/s", 8),
        ]
        let exact = units.filter { bytes * 8 % $0.bits == 0 }.map { unit in
            (number: String(bytes * 8 / unit.bits), unit: unit.name)
        }
        // `min` takes the first of equals.
        let shortest = exact.min { $0.number.utf8.count < $1.number.utf8.count }
        return shortest.map { $0.number + $0.unit } ?? "\(bytes)B/s"
    }
}
