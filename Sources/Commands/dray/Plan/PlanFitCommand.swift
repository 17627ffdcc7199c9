import Client
import CommandLine
import FoundationEssentials
import Model
import Planner
import Rendering
import Statistics

/// `dray plan fit`: fits the Universal Scalability Law to measured throughput.
enum PlanFitCommand {
    static let command = Command(
        "fit", summary: "Fit a scalability law to measured throughput.",
        discussion: """
            DATA.csv has a line for each measurement: N workers, X throughput, in any unit. A \
            header line may name the columns. A fit needs at least three different N, and four \
            for intervals. Twice as many, up to where throughput stops growing, make a good fit.

            Fits the Universal Scalability Law X(N) = γN / (1 + α(N−1) + βN(N−1)) by least \
            squares with 0 ≤ α ≤ 1 and β ≥ 0. If β is 0 there is no peak, and throughput \
            approaches γ/α.
            """,
        operands: [CommandOperand("DATA.csv", .files, help: "A file, or - for standard input.")],
        options: [CommandOption("json", .flag, help: "Print JSON.")], action: run)

    @Sendable private static func run(_ arguments: Arguments) async -> ExitCode {
        do {
            let path = arguments.operands[0]
            let (bytes, _) = try SmallFile.read(path)
            let (points, fit) = try fitted(bytes, path)
            Console.write(
                arguments.flag("json") ? try PlanText.json(FitAnswer(fit)) : text(points, fit))
            return .success
        } catch {
            return Console.fail(error)
        }
    }

    private static func fitted(
        _ bytes: [UInt8], _ path: String
    ) throws(Failure) -> ([(n: Double, x: Double)], ScalabilityFit) {
        let points: [(n: Double, x: Double)]
        do throws(PlannerError) {
            points = try ThroughputTable(csv: String(decoding: bytes, as: UTF8.self)).points
        } catch {
            throw Failure(error).inFile(path)
        }
        do throws(FitError) {
            return (points, try Scalability.fit(points))
        } catch {
            throw Failure(PlannerError(error)).inFile(path)
        }
    }

    // MARK: Text

    private static func text(_ points: [(n: Double, x: Double)], _ fit: ScalabilityFit) -> String {
        let law = fit.scalability
        func row(_ name: String, _ value: Double, _ interval: ScalabilityFit.Interval?) -> [String]
        {
            [
                name, PlanText.number(value),
                interval.map {
                    "\(PlanText.number($0.lowerBound)) to \(PlanText.number($0.upperBound))"
                } ?? "–",
            ]
        }
        let table = TextLayout.table(
            headings: ["", "Fitted", "95 % interval"], alignments: [.left, .right, .left],
            rows: [
                row("α  contention: work that only one can do at a time", law.alpha, fit.alpha),
                row("β  coherency: cost of coordination", law.beta, fit.beta),
                row("γ  throughput of one worker", law.gamma, fit.gamma),
            ])
        let plot = TextPlot().draw(
            points: points.map { (x: $0.n, y: $0.x) }, curve: law.throughput,
            number: PlanText.number)
        return table + "\n\(peak(fit)) The law explains "
            + "\(HumanFormat.fixed(fit.rSquared * 100, places: 2)) % of the variance; the "
            + "largest error of a point is "
            + "\(HumanFormat.fixed(fit.largestError * 100, places: 1)) %.\n\n"
            + plot + "\n" + pointTable(points, law)
    }

    private static func peak(_ fit: ScalabilityFit) -> String {
        let law = fit.scalability
        if let n = law.peakN, let x = law.peakX {
            let interval = fit.peakN.map {
                $0.upperBound.isFinite
                    ? " (95 %: \(PlanText.number($0.lowerBound)) to "
                        + "\(PlanText.number($0.upperBound)))"
                    : " (95 %: \(PlanText.number($0.lowerBound)) or more)"
            }
            return "Peak at N = \(PlanText.number(n))\(interval ?? ""): X = \(PlanText.number(x))."
        }
        guard let limit = law.limitX else { return "Throughput grows linearly, without a limit." }
        return "No peak: throughput approaches X = \(PlanText.number(limit))."
    }

    private static let shownPoints = 100

    private static func pointTable(
        _ points: [(n: Double, x: Double)], _ law: Scalability
    ) -> String {
        TextLayout.table(
            headings: ["N", "X measured", "X fitted", "Off", "Efficiency"],
            alignments: [.right, .right, .right, .right, .right],
            rows: points.prefix(shownPoints).map { point in
                let fitted = law.throughput(point.n)
                return [
                    PlanText.number(point.n), PlanText.number(point.x), PlanText.number(fitted),
                    HumanFormat.fixed((fitted / point.x - 1) * 100, places: 1) + " %",
                    HumanFormat.fixed(law.efficiency(point.n) * 100, places: 1) + " %",
                ]
            })
    }
}

/// The fit as JSON; null for missing values: the peak of unlimited throughput, intervals of three
/// points, an infinite bound.
private struct FitAnswer: Encodable {
    private let fit: ScalabilityFit

    init(_ fit: ScalabilityFit) { self.fit = fit }

    private enum Key: String, CodingKey {
        case alpha, beta, gamma, peakN, peakX, limitX, intervals, rSquared, largestError
    }

    private enum IntervalKey: String, CodingKey {
        case alpha, beta, gamma, peakN
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        let law = fit.scalability
        try container.encode(PlanText.finite(law.alpha), forKey: .alpha)
        try container.encode(PlanText.finite(law.beta), forKey: .beta)
        try container.encode(PlanText.finite(law.gamma), forKey: .gamma)
        try container.encode(PlanText.finite(law.peakN), forKey: .peakN)
        try container.encode(PlanText.finite(law.peakX), forKey: .peakX)
        try container.encode(PlanText.finite(law.limitX), forKey: .limitX)
        try container.encode(PlanText.finite(fit.rSquared), forKey: .rSquared)
        try container.encode(PlanText.finite(fit.largestError), forKey: .largestError)
        var intervals = container.nestedContainer(keyedBy: IntervalKey.self, forKey: .intervals)
        for (key, interval) in [
            (IntervalKey.alpha, fit.alpha), (.beta, fit.beta), (.gamma, fit.gamma),
            (.peakN, fit.peakN),
        ] {
            try intervals.encode(
                interval.map { [PlanText.finite($0.lowerBound), PlanText.finite($0.upperBound)] },
                forKey: key)
        }
    }
}
