import Planner
import Rendering

/// The answer of `dray plan queue`, as text and as JSON.
struct QueueAnswer: Encodable {
    private let question: QueueQuestion
    private let simulation: QueueSimulation?
    private let withinSeconds: Double
    /// True if the number of servers was not given.
    private let isFound: Bool
    /// The number of servers that the question is about.
    private let main: QueueWaits
    /// One server fewer, `main`, and one more.
    private let columns: [QueueWaits]

    /// Calculates or simulates waits.
    ///
    /// - Parameter columns: 3 for the neighbours too, 1 for `servers` alone.
    init(
        _ question: QueueQuestion, _ simulation: QueueSimulation?, servers: Int, isFound: Bool,
        withinSeconds: Double, columns: Int
    ) {
        self.question = question
        self.simulation = simulation
        self.isFound = isFound
        self.withinSeconds = withinSeconds
        main = question.waits(servers: servers, simulation)
        let main = main
        self.columns =
            columns == 1
            ? [main]
            : [servers - 1, servers, servers + 1].filter { $0 > 0 }.map {
                $0 == servers ? main : question.waits(servers: $0, simulation)
            }
    }

    private static let quantiles = [
        ("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999),
    ]

    // MARK: Notes

    /// Sentences on how far the figures can be trusted.
    private var notes: [String] {
        var notes: [String] = []
        let range = FormulaRange(question)
        switch main {
        case .simulation(let queue):
            let why = range.reason.map { "\($0) is outside the formulas' range" } ?? "as chosen"
            notes.append(
                "Simulated, since \(why): up to \(HumanFormat.count(queue.jobs)) jobs, "
                    + "\(question.shapeName) service times"
                    + (question.arrivalCV2 > 1 ? ", bursts of two exponentials" : "") + ".")
            guard queue.meanWaitSeconds == 0 else { break }
            notes.append("None of \(HumanFormat.count(queue.countedJobs, "job")) waited.")
        case .formula where main.meanWaitSeconds.isFinite:
            guard let reason = range.reason else { break }
            notes.append(
                "\(reason) is outside the range in which the formulas are within "
                    + "\(FormulaRange.errorPercent) % of simulated waits: "
                    + (question.load > QueueSimulation.maxLoad
                        ? "this many servers cannot be simulated; take these as rough estimates."
                        : "use --method simulation."))
        case .formula: break
        }
        if question.arrivalCV2 > FormulaRange.arrivalCV2.upperBound {
            notes.append(FormulaRange.burstNote)
        }
        return notes
    }

    // MARK: Text

    var text: String {
        func row(_ title: String, _ value: (QueueWaits) -> String) -> [String] {
            [title] + columns.map(value)
        }
        func percent(_ share: Double) -> String { HumanFormat.fixed(share * 100, places: 2) + " %" }
        func model(_ waits: QueueWaits, by other: WaitingModel.Correction? = nil) -> WaitingModel {
            question.model(servers: waits.servers, by: other)
        }
        let within = "Wait of \(PlanText.seconds(withinSeconds)) at most"
        var rows = [
            row("Utilisation") { percent(model($0).utilisation) },
            row("Probability of waiting") { percent($0.probabilityOfWait) },
            row(within) { percent($0.serviceLevel(withinSeconds: withinSeconds)) },
            row("Mean queue length") { PlanText.number($0.meanQueueLength) },
            row("Mean wait") { PlanText.seconds($0.meanWaitSeconds) },
        ]
        if simulation != nil {
            rows += [
                row("Margin of the mean wait") {
                    guard case .simulation(let queue) = $0 else { return "–" }
                    return queue.marginSeconds.map { "± \(PlanText.seconds($0))" } ?? "none waited"
                },
                row("Mean wait by formula") { PlanText.seconds(model($0).meanWaitSeconds) },
            ]
        } else {
            let other = question.correction == .kimura ? "Allen–Cunneen" : "Kimura"
            rows.append(
                row("Mean wait by \(other)") {
                    PlanText.seconds(model($0, by: question.correction.other).meanWaitSeconds)
                })
        }
        rows += Self.quantiles.map { name, quantile in
            row("\(name == "p999" ? "p99.9" : name) wait") {
                PlanText.seconds($0.waitSeconds(quantile: quantile))
            }
        }
        rows.append(
            row("Lost without a queue") {
                percent(Erlang.blocking(servers: $0.servers, load: question.load))
            })
        let table = TextLayout.table(
            headings: ["Servers"] + columns.map { HumanFormat.count($0.servers) },
            alignments: [.left] + columns.map { _ in .right }, rows: rows)
        return table
            + ([overload].compactMap(\.self) + notes).map {
                "\n\(TextLayout.wrapped($0, width: 100, hangingIndent: 0))\n"
            }.joined()
    }

    private var overload: String? {
        guard question.load >= Double(main.servers) else { return nil }
        let noun = question.load == 1 ? "erlang" : "erlangs"
        return "The load of \(PlanText.number(question.load)) \(noun) needs more than "
            + "\(HumanFormat.count(main.servers, "server")): the queue grows without limit."
    }

    // MARK: JSON

    private enum Key: String, CodingKey {
        case erlangB, probabilityOfWait, meanQueueLength, meanWaitSeconds, serviceLevel
        case utilisation, servers, waitSeconds, method, simulation, notes
    }

    private struct Run: Encodable {
        var jobs: Int
        var seed: UInt64
        var serviceShape: String
        /// Nil if no job waited.
        var meanWaitMarginSeconds: Double?
    }

    /// Encodes infinite values, such as those of an endlessly growing queue, as null. `servers` is
    /// missing if it was given.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        let model = question.model(servers: main.servers)
        let blocking = Erlang.blocking(servers: main.servers, load: question.load)
        try container.encode(blocking, forKey: .erlangB)
        try container.encode(main.probabilityOfWait, forKey: .probabilityOfWait)
        try container.encode(PlanText.finite(main.meanQueueLength), forKey: .meanQueueLength)
        try container.encode(PlanText.finite(main.meanWaitSeconds), forKey: .meanWaitSeconds)
        try container.encode(
            main.serviceLevel(withinSeconds: withinSeconds), forKey: .serviceLevel)
        try container.encode(model.utilisation, forKey: .utilisation)
        if isFound { try container.encode(main.servers, forKey: .servers) }
        let waits = Self.quantiles.map {
            ($0.0, PlanText.finite(main.waitSeconds(quantile: $0.1)))
        }
        try container.encode(
            Dictionary(uniqueKeysWithValues: waits), forKey: .waitSeconds)
        switch main {
        case .formula: try container.encode("formula", forKey: .method)
        case .simulation(let queue):
            try container.encode("simulation", forKey: .method)
            try container.encode(
                Run(
                    jobs: queue.jobs, seed: simulation?.seed ?? 0, serviceShape: question.shapeName,
                    meanWaitMarginSeconds: queue.marginSeconds), forKey: .simulation)
        }
        try container.encode(notes, forKey: .notes)
    }
}
