package import API
import Model
import Rendering
import Text

/// Formats the progress of a catalog. Pure: from a status and its meter to lines.
struct ProgressText {
    let status: CatalogStatus
    let meter: ProgressMeter
    let style: TerminalStyle
    /// The failure that blocks the catalog now.
    var issue: String?
    /// Name of its site, beside the same catalog at others; nil for one site.
    var site: String?

    /// Returns a line for the catalog and one for each active asset, at most `rows`.
    func lines(columns: Int, rows: Int) -> [String] {
        let shape = Shape.all(columns: columns).first {
            catalogLine($0).untilTimeLeft <= columns
        }
        let layout = shape ?? Shape.narrowest(columns: columns)
        let (nameWidth, barWidth) = (layout.nameWidth, layout.barWidth)
        var lines = [catalogLine(layout).line]
        if let issue {
            var line = StyledLine()
            line.append("  \(issue)", .yellow)
            lines.append(line)
        }
        for text in [waits, deadline, recording].compactMap(\.self) {
            var line = StyledLine()
            line.append("  \(text)", .yellow)
            lines.append(line)
        }
        let room = max(0, rows - lines.count)
        let active = status.active
        // The last row counts the assets without a line.
        let shown = active.count <= room ? active : Array(active.prefix(max(0, room - 1)))
        for asset in shown {
            lines.append(assetLine(asset, nameWidth: nameWidth, barWidth: barWidth))
        }
        if shown.count < active.count, room > 0 {
            var line = StyledLine()
            let more = status.active.count >= 20 ? "more" : "\(active.count - shown.count) more"
            line.append("  and \(more) active", .dim)
            lines.append(line)
        }
        return lines.map { $0.rendered(columns: columns, usesColor: style.usesColor) }
    }

    /// Widths of a line's parts, the same in all lines.
    private struct Shape {
        var nameWidth: Int
        var barWidth: Int
        /// True for `3/50` instead of `3 of 50 assets`.
        var isNarrow: Bool
        /// True to omit the expected bytes.
        var isBrief = false

        /// Returns all shapes, the most detailed first.
        static func all(columns: Int) -> [Shape] {
            let nameWidth = min(max(columns * 7 / 25, 12), 44)
            let barWidth = columns >= 116 ? 20 : columns >= 90 ? 12 : columns >= 64 ? 8 : 0
            let widths = [20, 12, 8, 0].filter { $0 <= barWidth }
            return
                (columns < 100
                ? [] : [Shape(nameWidth: nameWidth, barWidth: barWidth, isNarrow: false)])
                + widths.map { Shape(nameWidth: nameWidth, barWidth: $0, isNarrow: true) }
                + [narrowest(columns: columns)]
        }

        static func narrowest(columns: Int) -> Shape {
            Shape(
                nameWidth: min(max(columns * 7 / 25, 12), 44), barWidth: 0, isNarrow: true,
                isBrief: true)
        }
    }

    /// Returns the catalog's line and its columns up to the time left, which every terminal with
    /// enough columns must show.
    private func catalogLine(_ shape: Shape) -> (line: StyledLine, untilTimeLeft: Int) {
        let totals = status.totals
        let reading = meter.catalog
        let barWidth = shape.barWidth
        var line = StyledLine()
        line.append(name(printable(site ?? status.name), width: shape.nameWidth), .bold)
        line.append("  ")
        line.appendBar(reading.fraction, width: barWidth, style: style)
        line.append(barWidth > 0 ? " \(percent(reading.fraction))" : percent(reading.fraction))
        // The most important parts come first: a narrow terminal cuts the end.
        line.append("  \(assets(totals, isNarrow: shape.isNarrow))")
        if totals.failed > 0 { line.append("  \(HumanFormat.count(totals.failed)) failed", .red) }
        if let count = totals.cancelled {
            line.append("  \(HumanFormat.count(count)) cancelled", .yellow)
        }
        let bytes =
            shape.isBrief
            ? TextLayout.padded(HumanFormat.bytes(reading.bytes), to: 8, right: true)
            : bytesText(reading)
        line.append("  \(bytes)")
        line.append("  \(rate(reading))")
        line.append("  \(left(reading))")
        let width = line.width
        if totals.retries > 0 { line.append("  \(retries(totals.retries))", .yellow) }
        return (line, width)
    }

    private func assetLine(_ asset: AssetStatus, nameWidth: Int, barWidth: Int) -> StyledLine {
        let reading = meter.active[asset.id] ?? ProgressMeter.Reading(bytes: asset.bytes)
        var line = StyledLine()
        line.append("  " + name(asset.shownName, width: nameWidth - 2))
        line.append("  ")
        line.appendBar(reading.fraction, width: barWidth, style: style)
        line.append(barWidth > 0 ? " \(percent(reading.fraction))" : percent(reading.fraction))
        line.append("  \(bytesText(reading))")
        switch asset.state {
        case .resolving: line.append("  reading the manifest", .dim)
        case .verifying: line.append("  checking the whole file", .dim)
        case .refreshing: line.append("  checking for changes", .dim)
        case .publishing: line.append("  publishing new files", .dim)
        default:
            line.append("  \(rate(reading))")
            line.append("  \(left(reading))")
            if asset.segments > 1 {
                let done = HumanFormat.count(asset.segmentsDone)
                line.append("  \(done) of \(HumanFormat.count(asset.segments)) segments", .dim)
            }
        }
        if asset.retries > 0 { line.append("  \(retries(asset.retries))", .yellow) }
        return line
    }

    /// The line of recordings that continue.
    private var recording: String? {
        status.recording.flatMap { $0.recording > 0 ? RecordingText.line($0) : nil }
    }

    /// The deadline's line of a running catalog; the summary has it for ended ones.
    private var deadline: String? {
        status.state == .running ? DeadlineText.line(status) : nil
    }

    /// The line of what the catalog waits for.
    private var waits: String? { WaitText.line(meter.waits.current) }

    /// The single line without a terminal, as in a log.
    var plainLine: String {
        let siteText = site.map { " at \(printable($0))" } ?? ""
        let parts = status.isOnlyRemoving ? removalParts : progressParts
        return "\(printable(status.name))\(siteText): \(parts.joined(separator: ", "))"
    }

    private var removalParts: [String] {
        let totals = status.totals
        let parts = [
            "removing \(HumanFormat.count(totals.removing ?? 0, "asset"))",
            "freed \(HumanFormat.count(totals.freedFiles ?? 0, "file"))",
            HumanFormat.bytes(totals.freedBytes ?? 0),
        ]
        return parts + [waits].compactMap(\.self)
    }

    private var progressParts: [String] {
        let totals = status.totals
        let reading = meter.catalog
        var parts = [
            "\(HumanFormat.count(totals.ended)) of "
                + HumanFormat.count(totals.assets, "asset")
        ]
        if recording == nil, reading.fraction != nil {
            parts.append(trimmed(percent(reading.fraction)))
        }
        parts.append(HumanFormat.bytes(reading.bytes))
        if let speed = reading.bytesPerSecond {
            parts.append(HumanFormat.rate(bytesPerSecond: speed))
        }
        if let recording {
            parts.append(recording)
        } else if let seconds = reading.secondsLeft, seconds < 360_000 {
            parts.append("\(HumanFormat.clock(seconds: seconds)) left")
        } else if status.state == .running {
            parts.append("time left unknown")
        }
        if totals.retries > 0 { parts.append(retries(totals.retries)) }
        if totals.failed > 0 { parts.append("\(HumanFormat.count(totals.failed)) failed") }
        if let count = totals.cancelled { parts.append("\(HumanFormat.count(count)) cancelled") }
        if let waits { parts.append(waits) }
        return parts
    }

    // Columns of fixed width, so that nothing moves between frames.

    private func name(_ text: String, width: Int) -> String {
        TextLayout.padded(TextLayout.middleTruncated(text, to: width), to: width)
    }

    private func assets(_ totals: CatalogTotals, isNarrow: Bool) -> String {
        let ended = HumanFormat.count(totals.ended)
        let all = HumanFormat.count(totals.assets)
        let padded = TextLayout.padded(ended, to: all.count, right: true)
        if isNarrow { return "\(padded)/\(all)" }
        return "\(padded) of \(HumanFormat.count(totals.assets, "asset"))"
    }

    private func percent(_ fraction: Double?) -> String {
        // Only a complete total shows 100 %: rounding up would show it too early.
        let text = fraction.map { "\(Int(($0 * 100).rounded(.down)))%" } ?? "–"
        return TextLayout.padded(text, to: 4, right: true)
    }

    private func bytesText(_ reading: ProgressMeter.Reading) -> String {
        let bytes = HumanFormat.bytes(reading.bytes)
        guard let expected = reading.expectedBytes else {
            return TextLayout.padded(bytes, to: 8, right: true)
        }
        return TextLayout.padded("\(bytes) of \(HumanFormat.bytes(expected))", to: 20, right: true)
    }

    private func rate(_ reading: ProgressMeter.Reading) -> String {
        let text = reading.bytesPerSecond.map { HumanFormat.rate(bytesPerSecond: $0) } ?? "–"
        return TextLayout.padded(text, to: 10, right: true)
    }

    private func left(_ reading: ProgressMeter.Reading) -> String {
        let text =
            reading.secondsLeft.flatMap { $0 < 360_000 ? HumanFormat.clock(seconds: $0) : nil }
            .map { "\($0) left" } ?? "left unknown"
        return TextLayout.padded(text, to: 10, right: true)
    }

    private func retries(_ count: Int) -> String {
        "\(HumanFormat.count(count)) \(count == 1 ? "retry" : "retries")"
    }

    private func trimmed(_ text: String) -> String { text.filter { $0 != " " } }
}

extension CatalogStatus {
    /// True while files are deleted, and nothing else of it is under way.
    var isOnlyRemoving: Bool {
        totals.removing.map { totals.ended + $0 >= totals.assets } ?? false
    }

    /// True while it runs and all that has not ended is paused.
    package var isPaused: Bool {
        guard state == .running, let paused = totals.paused else { return false }
        return totals.ended + paused + (totals.removing ?? 0) >= totals.assets
    }

    /// True while it runs, or waits for something.
    package var isUnderWay: Bool { state == .running || waits != nil }

    /// Its state for people.
    package var shownState: String { isPaused ? "paused" : state.rawValue }
}

extension AssetStatus {
    /// The printable name without secrets: see `redactedName`.
    var shownName: String { printable(redactedName) }
}
