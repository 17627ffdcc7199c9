import FoundationEssentials
package import Statistics

/// Inputs of a plan from measurements, each with its 95 % interval.
package struct Calibration: Sendable {
    /// By the input's path in a scenario: `worker.segmentsPerSecond`.
    package private(set) var values: [String: Measured] = [:]
    /// The fit of throughput by workers, if three different numbers of them were measured.
    package private(set) var scalability: ScalabilityFit?
    /// The sources, one line each: `2 runs of dray benchmark transfer`.
    package private(set) var sources: [String] = []
    /// Errors of a fit and what it leaves open, a sentence each.
    package private(set) var notes: [String] = []
    /// What makes a fit doubtful, to follow "rests on"; nil if nothing does.
    package internal(set) var doubt: String?
    /// Mean bytes of the fetches of each measurement that has them.
    private(set) var sizes: [Double] = []

    /// CPU time of a segment besides its bytes, used if runs do not show it.
    private let cpuMicrosecondsPerSegment: Double

    package init(cpuMicrosecondsPerSegment: Double = SegmentCPU.assumedMicroseconds) {
        self.cpuMicrosecondsPerSegment = cpuMicrosecondsPerSegment
    }

    /// Reads measurements: JSON of `dray benchmark transfer`, `dray benchmark queue` or `dray
    /// loadtest`, or runs of a pool as in `docs/planning.md`. Several are in an array or one per
    /// line. A CSV file of N and X is allowed too.
    ///
    /// `cpuMicrosecondsPerSegment` is the CPU time of a segment besides its bytes, used if runs of
    /// one size do not show it. Throws with the location of invalid input.
    package static func read(
        _ text: String, cpuMicrosecondsPerSegment: Double = SegmentCPU.assumedMicroseconds
    ) throws(PlannerError) -> Calibration {
        let begin = text.first { !$0.isWhitespace }
        var calibration = Calibration(cpuMicrosecondsPerSegment: cpuMicrosecondsPerSegment)
        if begin == "{" || begin == "[" {
            try calibration.take(try runs(text))
        } else {
            try calibration.take(
                points: try ThroughputTable(csv: text).points, source: "throughput by workers")
        }
        return calibration
    }

    private static func runs(_ text: String) throws(PlannerError) -> [MeasuredRun] {
        let files = try files(text)
        for file in files {
            guard let reason = file.noCalibration, file.calibration?.isEmpty ?? true else {
                continue
            }
            throw file.ladder?.kind == SearchReport.kind
                ? PlannerError(
                    field: "the load test",
                    given: "a search for the limit of a server, not a measurement of workers",
                    allowed: "use --origin-from FILE if it was at the origin, --edge-from FILE at "
                        + "an edge")
                : PlannerError(
                    field: "the load test", given: "not a measurement of workers",
                    allowed: String(reason.prefix(200)))
        }
        return files.flatMap(\.parts)
    }

    /// Decodes the measurements of a file; one may contain several runs.
    private static func files(_ text: String) throws(PlannerError) -> [MeasuredRun] {
        let decoder = JSONDecoder()
        let data = Data(text.utf8)
        if let runs = try? decoder.decode([MeasuredRun].self, from: data) {
            return runs
        }
        if let run = try? decoder.decode(MeasuredRun.self, from: data) { return [run] }
        var runs: [MeasuredRun] = []
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            if line.allSatisfy(\.isWhitespace) { continue }
            do {
                runs.append(try decoder.decode(MeasuredRun.self, from: Data(line.utf8)))
            } catch {
                throw PlannerError(
                    field: "line \(number)", given: "no measurement",
                    allowed:
                        "use JSON of dray benchmark or dray loadtest --scale, an array "
                        + "of these, or one per line")
            }
        }
        return runs
    }

    mutating func set(_ path: String, _ value: Measured) { values[path] = value }
    mutating func add(source: String) { sources.append(source) }
    mutating func add(notes texts: [String]) { notes += texts }
    mutating func add(sizes bytes: [Double]) { sizes += bytes.filter { $0 > 0 } }

    // MARK: Runs

    private mutating func take(_ runs: [MeasuredRun]) throws(PlannerError) {
        for (index, run) in runs.enumerated() { try run.check(number: index + 1) }
        add(sizes: runs.compactMap { $0.meanBytes ?? $0.segmentBytes })
        takeTransfers(runs.filter { $0.kind == .transfer })
        takeQueues(runs.filter { $0.kind == .queue })
        try takePools(runs.filter { $0.kind == .pool })
        guard !values.isEmpty else {
            throw PlannerError(
                field: "the file", given: "without a usable measurement",
                allowed:
                    "use JSON of dray benchmark transfer, dray benchmark queue, dray "
                    + "loadtest --scale or pool runs")
        }
    }

    /// Adds runs of one worker's engine: its speed, transfer time and segment size. Runs of
    /// different sizes separate the times per object and per byte.
    private mutating func takeTransfers(_ runs: [MeasuredRun]) {
        guard !runs.isEmpty else { return }
        add(source: "\(runs.count) of dray benchmark transfer")
        func each(_ path: String, _ figure: (MeasuredRun) -> Double?) {
            let moments = Moments(runs.compactMap(figure))
            if moments.count > 0 { set(path, moments.meanEstimate.notNegative) }
        }
        each("worker.segmentsPerSecond") { $0.objectsPerSecond }
        // Little's law: the engine keeps all its connections busy.
        each("worker.serviceSeconds", \.transferSeconds)
        each("worker.measuredBytes", \.meanBytes)
        if let line = Self.bySize(runs, { $0.objectsPerSecond.map { 1 / $0 } }) {
            let seconds = line.middle
            set(
                "worker.segmentsPerSecond",
                Measured(
                    low: 1 / seconds.high, likely: 1 / seconds.likely,
                    high: 1 / max(seconds.low, seconds.likely / 100), count: runs.count,
                    isInterval: seconds.interval != nil))
            set("worker.measuredBytes", Measured(one: line.middleSize * 1e9, count: runs.count))
            set("worker.secondsPerGigabyte", line.slope.notNegative)
        }
        if let line = Self.bySize(runs, \.transferSeconds), line.slope.likely > 0 {
            // At the mean size: the times vary with the sizes, so they show no interval.
            set("worker.serviceSeconds", line.middle.notNegative)
            let seconds = line.slope
            set(
                "origin.megabitsPerConnection",
                Measured(
                    low: 8_000 / seconds.high, likely: 8_000 / seconds.likely,
                    high: 8_000 / max(seconds.low, seconds.likely / 100), count: runs.count,
                    isInterval: seconds.interval != nil))
        }
        takeCPU(runs)
    }

    /// Separates CPU time per object and per byte if runs had different sizes. Otherwise the bytes
    /// get what remains after the object's time.
    private mutating func takeCPU(_ runs: [MeasuredRun]) {
        if let line = Self.bySize(runs, \.objectCPUSeconds) {
            set("worker.cpuMicrosecondsPerSegment", line.start.notNegative.scaled(by: 1e6))
            set("worker.cpuSecondsPerGigabyte", line.slope.notNegative)
            return
        }
        let points = Self.points(runs, \.objectCPUSeconds)
        if points.contains(where: { $0.x > 0 }) {
            let known = values["worker.cpuMicrosecondsPerSegment"]?.likely
            let cpu = SegmentCPU(
                points, microsecondsPerSegment: known ?? cpuMicrosecondsPerSegment)
            set("worker.cpuSecondsPerGigabyte", cpu.secondsPerGigabyte)
            if let own = cpu.microsecondsPerSegment {
                set("worker.cpuMicrosecondsPerSegment", own)
            }
            return
        }
        // The number of objects is unknown.
        let plain = Moments(runs.compactMap(\.anyCPUSecondsPerGigabyte))
        if plain.count > 0 { set("worker.cpuSecondsPerGigabyte", plain.meanEstimate.notNegative) }
    }

    /// Returns a figure by the mean gigabytes of an object, for runs that have both.
    private static func points(
        _ runs: [MeasuredRun], _ figure: (MeasuredRun) -> Double?
    ) -> [(x: Double, y: Double)] {
        runs.compactMap { run in
            guard let size = run.meanBytes, let value = figure(run) else { return nil }
            return (size / 1e9, value)
        }
    }

    /// Fits a figure per object and per gigabyte to runs whose mean sizes differ by a factor of 2
    /// or more. Nil without such runs, or if one would be negative.
    private static func bySize(
        _ runs: [MeasuredRun], _ figure: (MeasuredRun) -> Double?
    ) -> LineFit? {
        let points = Self.points(runs, figure)
        guard points.count > 1, let least = points.map(\.x).min(),
            let most = points.map(\.x).max(), most > 0, most >= 2 * least
        else { return nil }
        let line = LineFit(points)
        return line.slope.likely > 0 && line.start.likely >= 0 ? line : nil
    }

    private mutating func takeQueues(_ runs: [MeasuredRun]) {
        guard !runs.isEmpty else { return }
        add(source: "\(runs.count) of dray benchmark queue")
        func each(_ path: String, _ figure: (MeasuredRun) -> Double?) {
            let moments = Moments(runs.compactMap(figure))
            if moments.count > 0 { set(path, moments.meanEstimate.notNegative) }
        }
        each("database.cpuMicrosecondsPerSegment") { $0.cpuMicrosecondsPerSegment?.postgres }
        each("coordinator.cpuMicrosecondsPerSegment") { $0.cpuMicrosecondsPerSegment?.coordinator }
        each("database.walBytesPerSegment") { run in
            run.walBytesPerSegment.map { $0 + (run.submitWALBytesPerSegment ?? 0) }
        }
    }

    private mutating func takePools(_ runs: [MeasuredRun]) throws(PlannerError) {
        guard !runs.isEmpty else { return }
        let points = runs.compactMap { run -> (n: Double, x: Double)? in
            guard let workers = run.workers, let rate = run.segmentsPerSecond else { return nil }
            return (workers, rate)
        }
        try take(points: points, source: "\(runs.count) runs of a pool")
        // The segment sizes of these runs replace those of other benchmarks.
        for path in ["worker.measuredBytes", "worker.secondsPerGigabyte"] { values[path] = nil }
        let sizes = Moments(runs.compactMap(\.segmentBytes))
        if sizes.count == runs.count {
            set("worker.measuredBytes", Measured(one: sizes.mean, count: runs.count))
        }
        takeCPU(runs)
        var sums = PowerSums()
        for run in runs {
            for value in run.serviceSeconds ?? [] { sums.add(value) }
            if let service = run.service { sums.add(service) }
        }
        guard sums.count > 1 else { return }
        let times = sums.moments
        set("worker.serviceSeconds", times.meanEstimate.notNegative)
        set("worker.serviceCV2", times.cv2Estimate)
    }

    /// Adds throughput by number of workers: fits the law to three or more different numbers,
    /// otherwise takes the speed of one worker.
    package mutating func take(
        points: [(n: Double, x: Double)], source: String
    ) throws(PlannerError) {
        add(source: source)
        guard Set(points.map(\.n)).count >= 3 else {
            let alone = Moments(points.map { $0.x / $0.n })
            if alone.count > 0 { set("worker.segmentsPerSecond", alone.meanEstimate.notNegative) }
            return
        }
        // Three numbers of workers fit any law including their noise, and extrapolation is then far
        // off: use β only if it is needed.
        let (full, plain): (ScalabilityFit, ScalabilityFit)
        do throws(FitError) {
            full = try Scalability.fit(points)
            plain = try Scalability.fit(points, withCoherency: false)
        } catch {
            throw PlannerError(error)
        }
        let isEnough = plain.largestError <= max(Self.noise, 2 * full.largestError)
        let (fit, other) = isEnough ? (plain, full) : (full, full)
        scalability = fit
        func estimate(
            _ path: String, _ figure: KeyPath<Scalability, Double>,
            _ interval: KeyPath<ScalabilityFit, ScalabilityFit.Interval?>
        ) {
            let values = [
                fit.scalability[keyPath: figure], other.scalability[keyPath: figure],
                fit[keyPath: interval]?.lowerBound, fit[keyPath: interval]?.upperBound,
            ].compactMap { $0 }
            let likely = fit.scalability[keyPath: figure]
            set(
                path,
                Measured(
                    low: values.min() ?? likely, likely: likely, high: values.max() ?? likely,
                    count: points.count, isInterval: fit[keyPath: interval] != nil))
        }
        estimate("worker.segmentsPerSecond", \.gamma, \.gamma)
        estimate("worker.contention", \.alpha, \.alpha)
        estimate("worker.coherency", \.beta, \.beta)
    }

    /// Relative variation of throughput between equal runs.
    private static let noise = 0.03
}

/// A measurement in a file: a report of `dray benchmark`, or a run of a pool.
private struct MeasuredRun: Decodable {
    enum Kind { case transfer, queue, pool, other }

    struct CPU: Decodable {
        var postgres: Double
        var coordinator: Double
    }

    var objects: Double?
    var bytes: Double?
    var connections: Int?
    var cpuSeconds: Double?
    var objectsPerSecond: Double?
    var cpuSecondsPerGigabyte: Double?

    var cpuMicrosecondsPerSegment: CPU?
    var walBytesPerSegment: Double?
    var submitWALBytesPerSegment: Double?

    var workers: Double?
    var segmentsPerSecond: Double?
    var serviceSeconds: [Double]?
    var service: PowerSums?
    /// Mean bytes of a pool's segments.
    var segmentBytes: Double?
    /// Measurements inside an object: those of a load test's result.
    var calibration: [MeasuredRun]?
    /// The reason why it has none.
    var noCalibration: String?
    var ladder: SearchReport.Ladder?

    var parts: [MeasuredRun] { calibration?.flatMap(\.parts) ?? [self] }

    var anyCPUSecondsPerGigabyte: Double? {
        if let cpuSecondsPerGigabyte { return cpuSecondsPerGigabyte }
        guard let cpuSeconds, let bytes, bytes > 0 else { return nil }
        return cpuSeconds / bytes * 1e9
    }

    /// Objects of the engine, or segments of a pool.
    private var fetched: Double? {
        if let objects { return objects > 0 ? objects : nil }
        guard let segmentBytes, segmentBytes > 0, let bytes, bytes > 0 else { return nil }
        return bytes / segmentBytes
    }

    /// Mean bytes per fetched object.
    var meanBytes: Double? {
        guard let fetched, let bytes else { return nil }
        return bytes / fetched
    }

    /// CPU seconds per fetched object.
    var objectCPUSeconds: Double? {
        guard let fetched, let cpuSeconds else { return nil }
        return cpuSeconds / fetched
    }

    /// Transfer time of the engine's objects, by Little's law.
    var transferSeconds: Double? {
        guard let connections, let objectsPerSecond else { return nil }
        return Double(connections) / objectsPerSecond
    }

    var kind: Kind {
        if objectsPerSecond != nil { return .transfer }
        if cpuMicrosecondsPerSegment != nil { return .queue }
        return workers != nil || serviceSeconds != nil || service != nil ? .pool : .other
    }

    /// Throws for impossible figures: 0 objects per second, a negative time.
    func check(number: Int) throws(PlannerError) {
        let amounts: [(String, Double?)] = [
            ("objectsPerSecond", objectsPerSecond), ("segmentsPerSecond", segmentsPerSecond),
            ("connections", connections.map { Double($0) }),
        ]
        for (name, value) in amounts {
            guard let value, !(value > 0 && value <= 1e12) else { continue }
            throw PlannerError(
                field: "\(name) of measurement \(number)", given: "\(value)",
                allowed: "use a number above 0, up to 1e12")
        }
        if let workers, !(workers >= 1 && workers <= 1e12) {
            throw PlannerError(
                field: "workers of measurement \(number)", given: "\(workers)",
                allowed: "use a number from 1 to 1e12")
        }
        let times: [(String, Double?)] = [
            ("cpuSeconds", cpuSeconds), ("cpuSecondsPerGigabyte", cpuSecondsPerGigabyte),
            ("bytes", bytes), ("objects", objects), ("segmentBytes", segmentBytes),
            ("walBytesPerSegment", walBytesPerSegment),
            ("cpuMicrosecondsPerSegment.postgres", cpuMicrosecondsPerSegment?.postgres),
            ("cpuMicrosecondsPerSegment.coordinator", cpuMicrosecondsPerSegment?.coordinator),
            ("serviceSeconds", serviceSeconds?.min()), ("serviceSeconds", serviceSeconds?.max()),
        ]
        if let most = serviceSeconds?.max(), most == 0 {
            throw PlannerError(
                field: "serviceSeconds of measurement \(number)", given: "0 throughout",
                allowed: "use times, at least one of them above 0")
        }
        if let service, !service.isPlausible {
            throw PlannerError(
                field: "service of measurement \(number)",
                given: "sums that no set of times can have",
                allowed:
                    "use a count, and the sums of the first four powers of that many "
                    + "positive times")
        }
        for (name, value) in times {
            guard let value, !(value >= 0 && value <= 1e18) else { continue }
            throw PlannerError(
                field: "\(name) of measurement \(number)", given: "\(value)",
                allowed: "use a number from 0 to 1e18")
        }
    }
}
