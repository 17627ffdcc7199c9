package import LoadModel
package import Rendering
import Statistics
import Text

/// The progress of a load test: takes each completed second and formats lines. Pure.
///
/// Rates and percentiles cover the last seconds; thresholds are judged over the measured time so
/// far.
package struct LoadProgress: Sendable {
    /// Name of a step; nil for a single run.
    package var step: String?

    private var scenario: LoadScenario
    /// CPUs that the generators can use at once, 1 or more.
    package var cores: Int
    private var recent: [LoadInterval] = []
    /// Successful requests in each of the last seconds, for the bars.
    private var rates: [Double] = []
    private var result = LoadResult()
    private var now = LoadInterval(second: 0)
    private var elapsedSeconds = 0.0

    /// Seconds that current figures cover.
    private static let recentSeconds = 5
    private static let maxThresholds = 6
    private static let maxBars = 60

    /// Creates the progress of a test.
    ///
    /// - Parameter cores: CPUs that the generators can use at once.
    package init(_ scenario: LoadScenario, cores: Int) {
        self.scenario = scenario
        self.cores = max(cores, 1)
    }

    /// Shows another plan from now on.
    package mutating func change(to scenario: LoadScenario) { self.scenario = scenario }

    /// Adds a second summed over all shards.
    ///
    /// - Parameter result: the measured results so far.
    package mutating func add(_ interval: LoadInterval, of result: LoadResult) {
        elapsedSeconds = max(elapsedSeconds, Double(interval.second) + interval.lengthSeconds)
        self.result = result
        // A short last second would look like a drop.
        if interval.lengthSeconds >= LoadSecond.minSeconds {
            rates.append(Double(interval.counts.requests.succeeded) / interval.lengthSeconds)
            if rates.count > Self.maxBars { rates.removeFirst() }
        }
        recent.append(interval)
        if recent.count > Self.recentSeconds { recent.removeFirst() }
        now = LoadInterval(second: interval.second)
        for interval in recent { now.add(interval) }
        now.counts.levels = interval.counts.levels
    }

    // MARK: Figures

    private var durationSeconds: Double { scenario.durationSeconds }
    private var perSecond: Double {
        let seconds = recent.reduce(0) { $0 + $1.lengthSeconds }
        return seconds > 0 ? 1 / seconds : 0
    }
    private var isWarmingUp: Bool { elapsedSeconds <= scenario.warmUpSeconds }

    /// True after the load: no request starts, and those in flight end.
    private var isEnding: Bool { elapsedSeconds > durationSeconds }
    private var isOpen: Bool { scenario.isOpen }
    private var hasViewers: Bool { scenario.hasViewers }

    private func level(_ value: Double) -> String {
        isOpen
            ? Quantity.rate(value) + (hasViewers ? " viewers" : "")
            : HumanFormat.count(Int64(min(value, 1e15).rounded()), hasViewers ? "viewer" : "user")
    }

    private var clock: String {
        let elapsed = HumanFormat.clock(seconds: min(elapsedSeconds, durationSeconds))
        return durationSeconds.isFinite && durationSeconds > 0
            ? "\(elapsed) of \(HumanFormat.clock(seconds: durationSeconds))" : elapsed
    }

    private var name: String {
        let name = LoadFormat.name(scenario.name)
        return (name.isEmpty ? "load test" : name) + (step.map { ", \(printable($0))" } ?? "")
    }

    private func quantile(_ metric: LoadMetric, _ quantile: Double) -> String {
        LoadFormat.time(now[metric].flatMap { $0.isEmpty ? nil : $0.value(quantile: quantile) })
    }

    private var errorRate: Double? {
        now.counts.requests.ended > 0
            ? Double(now.counts.requests.failed) / Double(now.counts.requests.ended) : nil
    }

    /// CPU use of the busiest machine, if machines are distinguished.
    private var cpuShare: Double {
        guard let machine = now.busiestMachine else {
            return now.counts.cpuSeconds * perSecond / Double(cores)
        }
        return machine.cpuSeconds * perSecond / machine.cores
    }

    private var generatorCores: String {
        guard let machine = now.busiestMachine, now.machines.count > 1 else {
            return LoadFormat.cores(now.machineCores ?? Double(cores))
        }
        return "\(LoadFormat.cores(machine.cores)) of \(LoadFormat.name(machine.name))"
    }

    // MARK: Lines

    /// Returns at most `rows` lines of at most `columns` columns, the most important first.
    package func lines(columns: Int, rows: Int, style: TerminalStyle) -> [String] {
        func flowing(_ parts: [StyledLine]) -> [StyledLine] {
            StyledLine.flowing(parts, columns: columns, indent: 12)
        }
        var lines = [headLine(columns, style)] + flowing(requestParts) + latencyLines(columns)
        if hasViewers { lines += flowing(viewerParts) }
        if let errors = errorLine { lines.append(errors) }
        lines += thresholdLines(style)
        lines += flowing(generatorParts)
        lines.append(rateLine(columns, style))
        return lines.prefix(max(rows, 1)).map {
            $0.rendered(columns: columns, usesColor: style.usesColor)
        }
    }

    private func headLine(_ columns: Int, _ style: TerminalStyle) -> StyledLine {
        var line = StyledLine()
        line.append(TextLayout.truncated(name, to: max(columns / 3, 8)), .bold)
        line.append("  \(clock)  ")
        appendStages(to: &line, width: columns >= 90 ? 30 : columns >= 60 ? 12 : 0, style)
        if let target = scenario.wanted(atSeconds: elapsedSeconds) {
            line.append("  \(level(target.level))")
            if scenario.stages.count > 1 {
                line.append("  stage \(target.stage + 1) of \(scenario.stages.count)", .dim)
            }
        }
        if isWarmingUp { line.append("  warm-up", .yellow) }
        if isEnding { line.append("  waiting for the last", .yellow) }
        return line
    }

    /// Draws the load over the whole test with a mark at the current time. A constant load is drawn
    /// as a progress bar.
    private func appendStages(to line: inout StyledLine, width: Int, _ style: TerminalStyle) {
        guard width > 0, durationSeconds.isFinite, durationSeconds > 0 else { return }
        let levels = (0..<width).map { column in
            scenario.wanted(atSeconds: (Double(column) + 0.5) / Double(width) * durationSeconds)?
                .level ?? 0
        }
        let shape = LoadFormat.sparkline(
            levels, columns: width, usesUnicode: style.usesUnicode, merge: LoadFormat.most)
        let past = Int(min(elapsedSeconds / durationSeconds, 1) * Double(width))
        let isEven = levels.allSatisfy { $0 == levels.first }
        let (mark, left) = style.usesUnicode ? ("│", "░") : ("|", ".")
        line.append(String(shape.prefix(past)), past == width ? .green : .cyan)
        guard past < width else { return }
        if isEven {
            line.append(String(repeating: left, count: width - past), .dim)
        } else {
            line.append(mark)
            line.append(String(shape.dropFirst(past + 1)), .dim)
        }
    }

    /// Combines pieces with their looks.
    private static func part(_ pieces: (text: String, look: StyledLine.Look)...) -> StyledLine {
        pieces.reduce(into: StyledLine()) { $0.append($1.text, $1.look) }
    }

    private var requestParts: [StyledLine] {
        let rate = Self.column(
            LoadFormat.rate(Double(now.counts.requests.succeeded) * perSecond), 10)
        let bits = Self.column(
            LoadFormat.bandwidth(Double(now.counts.requests.bytes) * 8 * perSecond), 11)
        var parts = [
            Self.part(("  requests    ", .dim), ("\(rate)  \(bits)", .plain)),
            Self.part(
                ("  in flight ", .dim), (HumanFormat.count(now.counts.levels.inFlight), .plain)),
        ]
        if now.counts.levels.backlog > 0 {
            parts.append(
                Self.part(("  waiting \(HumanFormat.count(now.counts.levels.backlog))", .yellow)))
        }
        parts.append(
            Self.part(
                ("  failed ", .dim),
                (LoadFormat.percent(errorRate), now.counts.requests.failed > 0 ? .red : .plain)))
        return parts
    }

    /// Returns the latencies side by side if the width allows it.
    private func latencyLines(_ columns: Int) -> [StyledLine] {
        func line(_ title: String, _ metric: LoadMetric) -> StyledLine {
            var line = Self.part((title, .dim))
            for (name, value) in [("p50 ", 0.5), ("  p95 ", 0.95), ("  p99 ", 0.99)] {
                line.append(name, .dim)
                line.append(Self.column(quantile(metric, value), 7))
            }
            return line
        }
        let first = line("  first byte  ", .firstByte)
        let both = StyledLine.flowing(
            [first, line("   total  ", .total)], columns: columns, indent: 0)
        return both.count == 1 ? both : [first, line("  total       ", .total)]
    }

    private var viewerParts: [StyledLine] {
        let waited = now.counts.playback.stalledSeconds
        let whole = waited + now.counts.playback.playedSeconds
        return [
            Self.part(
                ("  viewers     ", .dim),
                (Self.column(HumanFormat.count(now.counts.levels.viewers), 10), .plain)),
            Self.part(
                ("  start-up p95 ", .dim), (Self.column(quantile(.startup, 0.95), 7), .plain)),
            Self.part(
                ("  rebuffering ", .dim),
                (
                    LoadFormat.percent(whole > 0 ? waited / whole : nil),
                    waited > 0 ? .yellow : .plain
                )),
            Self.part(
                ("  late segments ", .dim),
                (
                    HumanFormat.count(now.counts.playback.lateSegments),
                    now.counts.playback.lateSegments > 0 ? .yellow : .plain
                )),
        ]
    }

    private var errorLine: StyledLine? {
        let errors = result.total.errors.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard !errors.isEmpty else { return nil }
        var line = StyledLine()
        line.append("  errors      ", .dim)
        line.append(
            errors.prefix(4).map { "\(printable($0.key)) \(HumanFormat.count($0.value))" }
                .joined(separator: "  "), .red)
        return line
    }

    private func thresholdLines(_ style: TerminalStyle) -> [StyledLine] {
        let seconds = scenario.measuredSeconds(atSeconds: elapsedSeconds)
        guard seconds > 0 else { return [] }
        return scenario.judgedThresholds.prefix(Self.maxThresholds).map { threshold in
            let verdict = threshold.judge(result.total, measuredSeconds: seconds)
            let isJudged = verdict.measured != nil
            var line = StyledLine()
            let (holds, broken) = style.usesUnicode ? ("✓", "✗") : ("ok", "broken")
            line.append("  \(isJudged ? verdict.holds ? holds : broken : "–") ", look(verdict))
            line.append(LoadFacts.text(threshold))
            if isJudged {
                line.append(
                    "  now \(LoadFormat.value(verdict.measured, of: threshold.figure))",
                    verdict.holds ? .dim : .red)
            }
            return line
        }
    }

    private func look(_ verdict: LoadVerdict) -> StyledLine.Look {
        guard verdict.measured != nil else { return .dim }
        return verdict.holds ? .green : .red
    }

    private var generatorParts: [StyledLine] {
        let isLimit = cpuShare > LoadHealth.maxCPUShare
        let cpu = "CPU \(LoadFormat.percent(min(cpuShare, 1))) of \(generatorCores)"
        var parts = [Self.part(("  generator   ", .dim), (cpu, isLimit ? .red : .plain))]
        if isLimit { parts.append(Self.part(("  it is the bottleneck", .red))) }
        for (name, count) in [
            ("late", now.counts.pacing.lateSends), ("missed", now.counts.pacing.missedSends),
        ] where count > 0 {
            parts.append(Self.part(("  \(name) \(HumanFormat.count(count))", .yellow)))
        }
        return parts
    }

    private func rateLine(_ columns: Int, _ style: TerminalStyle) -> StyledLine {
        let width = min(max(columns - 30, 10), Self.maxBars)
        var line = StyledLine()
        line.append("  rate        ", .dim)
        line.append(
            LoadFormat.sparkline(
                rates.suffix(width), columns: width, usesUnicode: style.usesUnicode,
                merge: LoadFormat.mean), .cyan)
        return line
    }

    private static func column(_ text: String, _ width: Int) -> String {
        TextLayout.padded(text, to: width, right: true)
    }

    /// A single line for output without a terminal.
    package var plainLine: String {
        var parts = [clock]
        if isWarmingUp { parts.append("warm-up") }
        if isEnding { parts.append("waiting for the last \(now.counts.levels.inFlight)") }
        if let target = scenario.wanted(atSeconds: elapsedSeconds) {
            parts.append("target \(level(target.level))")
        }
        parts.append(
            "\(LoadFormat.rate(Double(now.counts.requests.succeeded) * perSecond)) succeeded")
        parts.append(LoadFormat.bandwidth(Double(now.counts.requests.bytes) * 8 * perSecond))
        parts.append("p99 \(quantile(.total, 0.99))")
        if hasViewers { parts.append(HumanFormat.count(now.counts.levels.viewers, "viewer")) }
        if now.counts.requests.failed > 0 {
            parts.append("\(LoadFormat.percent(errorRate)) failed")
        }
        if cpuShare > LoadHealth.maxCPUShare {
            parts.append("the generator's CPU is the bottleneck")
        }
        return "\(name): \(parts.joined(separator: ", "))"
    }
}
