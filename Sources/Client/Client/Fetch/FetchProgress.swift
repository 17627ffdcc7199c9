import Glibc
import Model
package import Rendering
import Services

/// The progress line of `dray fetch`: name, bar, bytes, speed, time left.
///
/// For one task at a time.
package struct FetchProgress: Sendable {
    let name: String
    let style: TerminalStyle
    private var lastBytes: Int64 = 0
    private var lastSeconds = 0.0
    private var perSecond: Double?
    /// Seconds after which the line shows two thirds of a change of speed.
    private static let smoothingSeconds = 2.0

    package init(name: String, style: TerminalStyle) {
        self.name = name
        self.style = style
    }

    /// Returns the line at `seconds` after the start, in at most `columns` columns.
    mutating func line(
        bytes: Int64, expected: Int64?, seconds: Double, columns: Int
    ) -> String {
        let elapsed = seconds - lastSeconds
        if elapsed > 0.05 {
            let sample = Double(max(0, bytes - lastBytes)) / elapsed
            let weight = 1 - exp(-elapsed / Self.smoothingSeconds)
            perSecond = perSecond.map { $0 + (sample - $0) * weight } ?? sample
            (lastBytes, lastSeconds) = (bytes, seconds)
        }
        let fraction = expected.map { $0 > 0 ? min(1, Double(bytes) / Double($0)) : 1 }
        let rate = perSecond.map { HumanFormat.rate(bytesPerSecond: $0) } ?? "–"
        let nameWidth = min(max(columns * 7 / 25, 12), 44)
        var line = StyledLine()
        line.append(
            TextLayout.padded(TextLayout.middleTruncated(name, to: nameWidth), to: nameWidth), .bold
        )
        line.append("  ")
        line.appendBar(fraction, width: columns >= 90 ? 20 : columns >= 64 ? 8 : 0, style: style)
        // Only a complete file shows 100 %: rounding up would show it too early.
        let percent = fraction.map { "\(Int(($0 * 100).rounded(.down)))%" } ?? "–"
        line.append(TextLayout.padded(percent, to: 5, right: true))
        let amount = expected.map { "\(HumanFormat.bytes(bytes)) of \(HumanFormat.bytes($0))" }
        line.append(
            "  " + TextLayout.padded(amount ?? HumanFormat.bytes(bytes), to: 20, right: true))
        line.append("  " + TextLayout.padded(rate, to: 10, right: true))
        if let expected, let perSecond, perSecond > 0 {
            let left = Double(max(0, expected - bytes)) / perSecond
            line.append("  \(HumanFormat.clock(seconds: left)) left")
        }
        return line.rendered(columns: columns, usesColor: style.usesColor)
    }
}

/// Draws the progress line on stderr, and removes it.
enum FetchLine {
    static func show(_ text: String) { writeAll("\r\(text)\u{1B}[K", to: STDERR_FILENO) }

    static func clear() { writeAll("\r\u{1B}[K", to: STDERR_FILENO) }
}
