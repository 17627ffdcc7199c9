import LoadModel
import Model
import Rendering
import Statistics

/// The facts of a result as names, values and tables; each report arranges them.
struct LoadFacts {
    struct Row {
        var name: String
        var value: String
        var remark = ""
    }

    struct Table {
        var title: String
        var headings: [String]
        var rows: [[String]]
        /// Columns of text; the others are figures.
        var text: Set<Int> = [0]
        /// Columns to omit in a narrow table, the last first.
        var spare: [Int] = []
    }

    let result: LoadResult
    private var counts: LoadCounts { result.total.counts }
    private var scenario: LoadScenario { result.scenario }

    var name: String {
        let name = LoadFormat.name(result.name)
        return name.isEmpty ? "load test" : name
    }

    var headline: String {
        let viewers =
            result.hasViewers ? "\(HumanFormat.count(counts.viewers.started, "viewer")), " : ""
        let failed =
            counts.requests.failed == 0
            ? "none failed" : "\(LoadFormat.percent(result.figure(.errorRate))) failed"
        return viewers + "\(HumanFormat.count(counts.requests.ended, "request")) in "
            + "\(LoadFormat.seconds(result.measuredSeconds)), \(failed)"
    }

    // MARK: Test plan

    var asked: [Row] {
        var rows = [
            Row(name: "model", value: model), Row(name: "stages", value: stages),
            Row(name: "user", value: user), Row(name: "targets", value: targets),
        ].filter { !$0.value.isEmpty }
        if result.warmUpSeconds > 0 {
            rows.append(
                Row(
                    name: "warm-up", value: LoadFormat.seconds(result.warmUpSeconds) + ", excluded")
            )
        }
        rows.append(Row(name: "requests", value: http))
        if let caps { rows.append(Row(name: "never more than", value: caps)) }
        return rows
    }

    private var isOpen: Bool {
        if case .open = scenario.model { return true }
        return false
    }

    private var model: String {
        if let replay = scenario.replay {
            return "replay: \(HumanFormat.count(replay.count, "request")) of a log of "
                + "\(LoadFormat.seconds(replay.logSeconds)), "
                + "\(Quantity.digits(replay.speedUp)) times as fast"
        }
        return switch scenario.model {
        case .open(.constant): "open: arrivals evenly spaced, seed \(scenario.seed)"
        case .open(.poisson): "open: Poisson arrivals, seed \(scenario.seed)"
        case .closed:
            "closed: each user sends its next request after the last\(think), seed "
                + "\(scenario.seed)"
        }
    }

    private var think: String {
        switch scenario.think {
        case .none: ""
        case .constant(let seconds): " by \(LoadFormat.seconds(seconds))"
        case .exponential(let mean): " by \(LoadFormat.seconds(mean)) on average"
        }
    }

    /// Formats a level of the load, with its unit unless it is a rate of requests.
    private func level(_ value: Double, isNamed: Bool = true) -> String {
        let isRate = isOpen && !result.hasViewers
        let text = isOpen ? Quantity.rate(value) : Quantity.digits(value)
        guard isNamed, !isRate else { return text }
        if isOpen { return "\(text) viewers" }
        return text + (result.hasViewers ? " viewer" : " user") + (value == 1 ? "" : "s")
    }

    /// Returns true if only caps end the load.
    private func isEndless(_ seconds: Double) -> Bool {
        seconds >= LoadLimits.stageSeconds.upperBound
            && (scenario.caps.requests != nil || scenario.caps.bytes != nil)
    }

    private var stages: String {
        let most = 6
        let texts = scenario.stages.prefix(most).map { stage -> String in
            if stage.seconds == 0 { return "\(level(stage.to)) at once" }
            if stage.from == stage.to {
                return isEndless(stage.seconds)
                    ? "\(level(stage.to)) until a limit is reached"
                    : "\(level(stage.to)) for \(LoadFormat.seconds(stage.seconds))"
            }
            return "\(level(stage.from, isNamed: false)) to \(level(stage.to)) in "
                + LoadFormat.seconds(stage.seconds)
        }
        let rest = scenario.stages.count - texts.count
        return texts.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    private var user: String {
        guard case .viewers(let viewer) = scenario.user else {
            return scenario.bodies == .checked ? "one request, digest checked" : "one request"
        }
        var parts = [
            "a viewer: plays with \(LoadFormat.seconds(viewer.startupSeconds)) buffered, buffers "
                + LoadFormat.seconds(viewer.bufferSeconds)
        ]
        if let watch = viewer.watchSeconds { parts.append("watches \(LoadFormat.seconds(watch))") }
        if viewer.loops { parts.append("again and again") }
        if let fixed = viewer.fixedBitsPerSecond {
            parts.append("always up to \(Quantity.bandwidth(Double(fixed)))")
        } else {
            parts.append("bit rate up to \(LoadFormat.percent(viewer.safety)) of throughput")
        }
        if scenario.http.keepsAlive {
            parts.append(viewer.opensConnection ? "opens a connection" : "shares connections")
        }
        if !viewer.classes.isEmpty { parts.append(Self.text(viewer.classes)) }
        return parts.joined(separator: ", ")
    }

    /// Names the classes of viewers with their shares.
    private static func text(_ classes: [ViewerClass]) -> String {
        let whole = classes.reduce(0) { $0 + $1.weight }
        let named = classes.prefix(5).enumerated().map { index, type in
            "\(LoadFormat.name(type.name(at: index))) "
                + LoadFormat.percent(type.weight / whole)
        }
        let rest = classes.count - named.count
        return named.joined(separator: " and ") + (rest > 0 ? " and \(rest) more" : "")
    }

    private var targets: String {
        let names = scenario.targets.prefix(3).map { target in
            switch target.source {
            case .url(let url, _): LoadFormat.name(url)
            case .object(let object, _): LoadFormat.name(object.urlWithoutFields)
            case .list(let path): LoadFormat.name(path)
            case .replay(let replay):
                "\(HumanFormat.count(replay.urls.count, "URL")) of \(LoadFormat.name(replay.name))"
            }
        }
        let rest = scenario.targets.count - names.count
        let popularity =
            if case .zipf(let exponent) = scenario.popularity {
                "; the k-th chosen by 1/k^\(exponent)"
            } else { "" }
        return names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "") + popularity
    }

    private var http: String {
        let version =
            switch scenario.http.version {
            case .automatic: "HTTP/2 over TLS where offered, else HTTP/1.1"
            case .http1: "HTTP/1.1"
            case .http2: "HTTP/2"
            }
        let keeps = scenario.http.keepsAlive ? "connections kept" : "a connection each"
        return "\(version), \(keeps), at most \(HumanFormat.count(scenario.concurrency)) at "
            + "once, timeout \(LoadFormat.seconds(scenario.http.timeoutSeconds))"
            + (scenario.maxRedirects > 0
                ? ", up to \(HumanFormat.count(scenario.maxRedirects, "redirect")) each" : "")
    }

    private var caps: String? {
        var parts: [String] = []
        if let seconds = scenario.caps.durationSeconds { parts.append(LoadFormat.seconds(seconds)) }
        if let requests = scenario.caps.requests {
            parts.append(HumanFormat.count(requests, "request"))
        }
        if let bytes = scenario.caps.bytes { parts.append(Quantity.bytes(Double(bytes))) }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    // MARK: Results

    var achieved: [Row] {
        let planned = result.plannedPerSecond.map { "of \(Quantity.rate($0)) planned" } ?? ""
        var rows = [
            Row(
                name: "requests", value: LoadFormat.count(counts.requests.ended),
                remark: ["\(LoadFormat.rate(result.requestsPerSecond)) succeeded", planned]
                    .filter { !$0.isEmpty }.joined(separator: " ")),
            Row(
                name: "failed", value: LoadFormat.count(counts.requests.failed),
                remark: failedRemark),
            Row(
                name: "throughput", value: LoadFormat.bandwidth(result.bitsPerSecond),
                remark: "\(LoadFormat.bytes(counts.requests.bytes)) in all"),
            Row(
                name: "connections", value: LoadFormat.count(counts.requests.connections),
                remark: result.warmUp.counts.requests.connections > 0
                    ? "opened, plus \(LoadFormat.count(result.warmUp.counts.requests.connections)) "
                        + "in the warm-up" : "opened"),
        ]
        if counts.requests.resent > 0 {
            rows.append(
                Row(
                    name: "sent again", value: LoadFormat.count(counts.requests.resent),
                    remark: "on a new connection: the server had closed a kept one"))
        }
        if let ratio = counts.cache.hitRatio {
            let age = counts.cache.meanAgeSeconds.map { ", mean age \(LoadFormat.seconds($0))" }
            rows.append(
                Row(
                    name: "cache hits", value: LoadFormat.percent(ratio),
                    remark: "of \(LoadFormat.count(counts.cache.hits + counts.cache.misses)) with "
                        + "cache headers; \(LoadFormat.percent(counts.cache.byteHitRatio)) of "
                        + "their bytes\(age ?? "")"))
        }
        if counts.requests.ended > counts.endedInTime {
            rows.append(
                Row(
                    name: "after the end",
                    value: LoadFormat.count(counts.requests.ended - counts.endedInTime),
                    remark: "in progress when the load ended; counted in no rate"))
        }
        if result.ending == .capped {
            rows.append(
                Row(
                    name: "ended", value: "capped",
                    remark: "a limit of requests or bytes was reached"))
        }
        if result.warmUp.counts.requests.ended > 0 {
            rows.append(
                Row(
                    name: "in the warm-up",
                    value: LoadFormat.count(result.warmUp.counts.requests.ended),
                    remark:
                        "\(LoadFormat.count(result.warmUp.counts.requests.failed)) failed; excluded "
                        + "from all results"))
        }
        return rows
    }

    private var failedRemark: String {
        let share = LoadFormat.percent(result.figure(.errorRate))
        guard let failed = result.total[.failed], !failed.isEmpty else { return share }
        return "\(share); half of them within \(LoadFormat.time(failed.value(quantile: 0.5)))"
    }

    var health: [Row] {
        let machines = result.total.machines.count
        let busiest = result.total.busiestMachine.map { machine in
            machines < 2
                ? " of one machine"
                : " of \(machines) machines; the busiest, \(LoadFormat.name(machine.name)), "
                    + "\(LoadFormat.percent(result.busiestShare))"
        }
        return [
            Row(
                name: "CPU", value: LoadFormat.percent(result.cpuShare),
                remark: "of \(LoadFormat.cores(result.generatorCores))\(busiest ?? "")"),
            Row(
                name: "late sends", value: LoadFormat.count(counts.pacing.lateSends),
                remark: "over \(LoadFormat.seconds(LoadHealth.lateSeconds)) after they were due"),
            Row(
                name: "missed sends", value: LoadFormat.count(counts.pacing.missedSends),
                remark: "due, never sent"),
        ]
    }
}
