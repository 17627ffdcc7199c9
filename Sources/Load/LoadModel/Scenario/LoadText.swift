import Glibc
import Model
import Text

/// An invalid text of a load test: the given text, shortened for a message, and the allowed form.
package struct LoadInputError: Error, Hashable, Sendable {
    package let given: String
    package let allowed: String

    package init(given: String, allowed: String) {
        self.given = printable(String(given.prefix(100)))
        self.allowed = allowed
    }
}

/// Numbers with units, as written on a command line and in thresholds.
package enum LoadText {
    /// Parses `250ms`, `30s`, `1.5h`, `1h30m` to seconds.
    package static func duration(_ text: String) throws(LoadInputError) -> Double {
        var rest = text[...]
        var seconds = 0.0
        repeat {
            guard let (number, tail) = number(rest),
                let unit = durations.first(where: { $0.name == tail.prefix { $0.isLetter } })
            else { throw LoadInputError(given: text, allowed: "a time: 250ms, 30s, 5m, 1h30m, 2d") }
            seconds += number * unit.factor
            rest = tail.dropFirst(unit.name.count)
        } while !rest.isEmpty
        return seconds
    }

    /// Formats seconds, 0 or more, for `duration`: in the largest unit in which they are whole.
    package static func text(duration seconds: Double) -> String {
        for unit in durations.reversed() {
            let number = product(seconds, 1 / unit.factor)
            if number == number.rounded(), number >= 1 || unit.name == "us" {
                return "\(Int64(saturating: number))\(number == 0 ? "s" : unit.name)"
            }
        }
        return "\(seconds)s"
    }

    /// Parses `500000`, `500MB`, `2GiB` to bytes.
    package static func bytes(_ text: String) throws(LoadInputError) -> Int64 {
        let allowed = "a number of bytes: 500MB, 2GiB"
        guard let (number, unit) = number(text[...]),
            let factor = unit.isEmpty ? 1 : bytes.first(where: { $0.name == unit })?.factor,
            let count = Int64(exactly: (number * factor).rounded())
        else { throw LoadInputError(given: text, allowed: allowed) }
        return count
    }

    /// Parses `800kbit/s`, `3Mbit/s` to bits per second.
    package static func bitRate(_ text: String) throws(LoadInputError) -> Int64 {
        guard let (number, unit) = number(text[...]),
            let factor = rates.first(where: { $0.name == unit })?.factor,
            let rate = Int64(exactly: (number * factor).rounded()),
            LoadLimits.bitsPerSecond.contains(rate)
        else { throw LoadInputError(given: text, allowed: "a bit rate: 800kbit/s, 3Mbit/s") }
        return rate
    }

    /// Parses `30s:100,1m:500,0s:1000`: the time in which the level after the colon is reached, 0
    /// for a step. The first stage starts from 0.
    package static func stages(_ text: String) throws(LoadInputError) -> [LoadStage] {
        let allowed = "TIME:NUMBER, several separated by commas: 30s:100,1m:500,0s:1000"
        var stages: [LoadStage] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = part.split(separator: ":", omittingEmptySubsequences: false)
            guard halves.count == 2, !halves[0].isEmpty,
                let (level, rest) = number(halves[1]), rest.isEmpty
            else {
                throw LoadInputError(given: text, allowed: allowed)
            }
            stages.append(
                LoadStage(
                    seconds: try duration(String(halves[0])), from: stages.last?.to ?? 0, to: level)
            )
        }
        return stages
    }

    struct Unit {
        let name: String
        let factor: Double
    }

    static let durations = [
        Unit(name: "us", factor: 1e-6), Unit(name: "µs", factor: 1e-6),
        Unit(name: "ms", factor: 1e-3), Unit(name: "s", factor: 1), Unit(name: "m", factor: 60),
        Unit(name: "h", factor: 3_600), Unit(name: "d", factor: 86_400),
    ]
    static let bytes = [
        Unit(name: "B", factor: 1), Unit(name: "kB", factor: 1e3), Unit(name: "MB", factor: 1e6),
        Unit(name: "GB", factor: 1e9), Unit(name: "TB", factor: 1e12),
        Unit(name: "KiB", factor: 0x1p10), Unit(name: "MiB", factor: 0x1p20),
        Unit(name: "GiB", factor: 0x1p30), Unit(name: "TiB", factor: 0x1p40),
    ]
    /// In bits.
    static let rates =
        bytes.map { Unit(name: "\($0.name)/s", factor: $0.factor * 8) }
        + ["", "k", "M", "G"].enumerated().map { index, prefix in
            Unit(name: "\(prefix)bit/s", factor: [1, 1e3, 1e6, 1e9][index])
        }

    /// Formats a share as a percentage: `5%`, `99.9%`.
    package static func percent(_ share: Double) -> String {
        let percent = product(share, 100)
        return percent == percent.rounded() ? "\(Int64(saturating: percent))%" : "\(percent)%"
    }

    /// Rounds a product to its first twelve digits: 0.7 % is 0.007, like seven of a thousand.
    package static func product(_ number: Double, _ factor: Double) -> Double {
        let product = number * factor
        guard product > 0, product < 1e12 else { return product }
        let scale = pow(10, min(12 - log10(product).rounded(.up), 22))
        return (product * scale).rounded() / scale
    }

    /// Splits off a leading number, 0 or more, without sign or exponent.
    package static func number(_ text: Substring) -> (Double, Substring)? {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard digits.count <= 40, digits.first?.isNumber == true, let number = Double(digits)
        else { return nil }
        return (number, text.dropFirst(digits.count))
    }
}
