/// Sentences on the quality of a fit: its errors, what the runs leave open, and which further run
/// would determine it.
struct FitNotes {
    private let fit: PoolFit

    init(_ fit: PoolFit) { self.fit = fit }

    var texts: [String] { short + [errors] + outliers + open + rivals }

    private var many: String { fit.runs.count == 1 ? "one run" : "\(fit.runs.count) runs" }

    /// Seconds below which the start and the end are much of a run.
    private static let shortSeconds = 5.0

    private var short: [String] {
        doubt.map {
            [
                "Too short to rely on: \($0). The start and the end are much of that. Use runs of "
                    + "10 s or more, with more segments."
            ]
        } ?? []
    }

    /// The runs that make the fit doubtful, such as `2 runs of less than 5 s, the shortest of 121
    /// ms`; nil without any.
    var doubt: String? {
        let numbers = fit.runs.indices.filter { fit.runs[$0].seconds < Self.shortSeconds }
        guard let shortest = numbers.map({ fit.runs[$0].seconds }).min() else { return nil }
        let reports =
            numbers.count == fit.runs.count
            ? many
            : numbers.count == 1
                ? "report \(numbers[0] + 1)"
                : "reports " + numbers.map { "\($0 + 1)" }.joined(separator: ", ")
        let time = ShortText.seconds(shortest)
        return numbers.count == 1
            ? "\(reports) of \(time)"
            : "\(reports) of less than \(Self.rounded(Self.shortSeconds)) s, the shortest of \(time)"
    }

    private var errors: String {
        let squares = fit.errors.reduce(0) { $0 + $1 * $1 }
        let mean = (squares / Double(fit.errors.count)).squareRoot()
        let worst = fit.errors.map(abs).max() ?? 0
        return "Fitted to the time of \(many): root mean square error \(Self.percent(mean)), "
            + "worst \(Self.percent(worst))."
    }

    private var outliers: [String] {
        fit.errors.enumerated().filter { abs($0.element) > 0.15 }.map { index, error in
            "Report \(index + 1) is \(Self.percent(abs(error))) "
                + "\(error > 0 ? "faster" : "slower") than the fit: something else limited the "
                + "others, or it."
        }
    }

    /// Names what the runs do not determine, with the run that would.
    private var open: [String] {
        var texts: [String] = []
        func isOpen(_ parameter: PoolFit.Parameter) -> Bool {
            fit.values[parameter]?.isDetermined == false
        }
        func add(_ what: String, _ how: String) {
            texts.append("Not determined by \(many): \(what). \(how)")
        }
        let sizes = fit.runs.map { $0.bytes / $0.segments }
        if (sizes.max() ?? 1) < 1.5 * (sizes.min() ?? 1) {
            if isOpen(.latencySeconds) || isOpen(.secondsPerByte) {
                add(
                    "origin.latencyMilliseconds and origin.megabitsPerConnection apart",
                    "Add a run with segments of half or twice the size.")
            }
        } else if isOpen(.latencySeconds) {
            add(
                "origin.latencyMilliseconds",
                "Add a run with segments of a quarter of the smallest size.")
        } else if isOpen(.secondsPerByte) {
            add(
                "origin.megabitsPerConnection",
                "Add a run with few connections, and segments of four times the largest size.")
        }
        if isOpen(.startSeconds) {
            add(
                "pool.startSeconds apart from the transfers",
                "Add a run of four times as many segments.")
        }
        let (worker, bytes, requests) = (
            fit.values[.workerBytes], fit.values[.originBytes], fit.values[.originRequests]
        )
        if worker == nil {
            add(
                "worker.megabitsPerSecond, the ceiling of a worker; it is at least "
                    + Self.rounded(fit.highest(.workerBytes) * 8e-6) + " Mbit/s",
                "Add a run with twice the connections per worker.")
        }
        if bytes == nil, requests == nil {
            add(
                "the origin's own limits; they are at least "
                    + Self.rounded(fit.highest(.originBytes) * 8e-6) + " Mbit/s and "
                    + Self.rounded(fit.highest(.originRequests)) + " requests per second",
                "Add a run with twice the workers.")
        }
        return texts
    }

    private var rivals: [String] {
        fit.rivals.isEmpty
            ? []
            : [
                "Not determined by \(many): which limit the slow runs met, "
                    + (fit.values.keys.filter { $0.rawValue > 2 } + fit.rivals)
                    .sorted { $0.rawValue < $1.rawValue }.map(Self.path)
                    .joined(separator: " or ")
                    + ". Add a run with another number of workers, and one with another size."
            ]
    }

    private static func path(_ parameter: PoolFit.Parameter) -> String {
        switch parameter {
        case .startSeconds: "pool.startSeconds"
        case .latencySeconds: "origin.latencyMilliseconds"
        case .secondsPerByte: "origin.megabitsPerConnection"
        case .workerBytes: "worker.megabitsPerSecond"
        case .originBytes: "origin.megabitsPerSecond"
        case .originRequests: "origin.requestsPerSecond"
        }
    }

    private static func percent(_ share: Double) -> String { "\(rounded(share * 100)) %" }

    private static func rounded(_ value: Double) -> String {
        let unit = value >= 100 ? 1.0 : 10
        return Scenario.grouped((value * unit).rounded() / unit)
    }
}
