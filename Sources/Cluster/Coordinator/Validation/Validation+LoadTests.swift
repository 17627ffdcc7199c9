import API
import Model

/// Checks of load tests. Workers and clients validate scenarios and results; only their sizes are
/// checked here.
extension Validation {
    static func check(_ test: LoadTestSubmission) throws(Failure) {
        try text(test.name, "name", 1...200)
        if let queue = test.queue { try text(queue, "queue", 1...200) }
        try content(test.scenario, "scenario", WireLimits.scenarioBytes)
        if let workers = test.workers { try range(workers, "workers", 1...WireLimits.loadWorkers) }
        try range(test.atLeast, "atLeast", 1...(test.workers ?? WireLimits.loadWorkers))
        try number(test.waitSeconds, "waitSeconds", WireLimits.loadWaitSeconds)
        try number(test.durationSeconds, "durationSeconds", WireLimits.loadSeconds)
        if let parts = test.parts { try range(parts, "parts", 1...WireLimits.loadParts) }
        if let loads = test.range {
            try level(loads.most, "range.most")
            try number(loads.seconds, "range.seconds", WireLimits.loadSeconds)
        }
        guard let urls = test.urls else { return }
        try range(urls.count, "urls", 1...WireLimits.loadURLBlocks)
        for (index, block) in urls.enumerated() {
            try content(block, "urls[\(index)]", WireLimits.loadPageBytes)
        }
        let bytes = urls.reduce(0) { $0 + $1.utf8.count }
        guard bytes <= WireLimits.loadURLBytes else {
            throw Failure(
                .inputField, at: .field("urls"), "\(bytes) bytes were given",
                allowed: "up to \(WireLimits.loadURLBytes) together")
        }
    }

    static func check(_ data: LoadTestData) throws(Failure) {
        try range(data.parts.count, "parts", 1...WireLimits.loadParts)
        for (index, part) in data.parts.enumerated() {
            try range(part.number, "parts[\(index)].number", 0...WireLimits.loadParts - 1)
            try content(
                part.data, "parts[\(index)].data", WireLimits.loadPartBytes, min: 0)
        }
    }

    static func check(_ change: LoadTestChangeRequest) throws(Failure) {
        try level(change.level, "level")
    }

    static func check(_ request: LoadTestPartsRequest) throws(Failure) {
        try range(request.from, "from", 0...WireLimits.loadParts)
    }

    static func check(_ follow: LoadTestFollow) throws(Failure) {
        try range(follow.after.count, "after", 0...WireLimits.loadWorkers)
        for (index, second) in follow.after.enumerated() {
            try range(second, "after[\(index)]", 0...maxSecond + 1)
        }
        try range(follow.waitMilliseconds, "waitMilliseconds", 0...WireLimits.loadWaitMilliseconds)
        try changes(follow.changes)
    }

    static func check(_ join: LoadTestJoin) throws(Failure) {
        try text(join.name, "name", 1...200)
    }

    static func check(_ report: LoadTestReport) throws(Failure) {
        try range(report.waitMilliseconds, "waitMilliseconds", 0...WireLimits.loadWaitMilliseconds)
        try changes(report.changes)
        if let cores = report.cores { try range(cores, "cores", 1...10_000) }
        try range(report.intervals.count, "intervals", 0...WireLimits.intervalsPerReport)
        var least = 0
        for (index, interval) in report.intervals.enumerated() {
            try range(interval.second, "intervals[\(index)].second", least...maxSecond)
            try content(interval.data, "intervals[\(index)].data", WireLimits.intervalBytes)
            least = interval.second + 1
        }
        if let breakdown = report.breakdown {
            try content(breakdown, "breakdown", WireLimits.breakdownBytes)
        }
        guard (report.failure != nil) == (report.progress == .failed) else {
            throw wrong(
                "failure", report.progress.rawValue, "with the progress failed, and only then")
        }
        if let failure = report.failure {
            try text(failure.code.rawValue, "failure.code", 1...100)
            try text(failure.message, "failure.message", 0...WireLimits.reasonCharacters)
        }
    }

    /// Maximum second of a test, plus time for its last requests.
    private static let maxSecond = Int(WireLimits.loadSeconds.upperBound) + 3_600

    /// Checks text that the database must store.
    private static func content(
        _ value: String, _ field: @autoclosure () -> String, _ most: Int, min: Int = 1
    ) throws(Failure) {
        guard (min...most).contains(value.utf8.count), !value.utf8.contains(0) else {
            throw Failure(
                .inputField,
                "\(field()): \(value.utf8.count) bytes were given; allowed: \(min) to \(most), "
                    + "without NUL.")
        }
    }

    private static func changes(_ count: Int?) throws(Failure) {
        if let count { try range(count, "changes", 0...WireLimits.loadChanges) }
    }

    private static func level(_ value: Double, _ field: String) throws(Failure) {
        try number(value, field, WireLimits.loadLevel)
    }

    private static func number(
        _ value: Double, _ field: String, _ allowed: ClosedRange<Double>
    ) throws(Failure) {
        guard allowed.contains(value) else {
            throw wrong(field, "\(value)", "\(allowed.lowerBound) to \(allowed.upperBound)")
        }
    }
}
