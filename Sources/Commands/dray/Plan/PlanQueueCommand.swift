import Client
import CommandLine
import FoundationEssentials
import Planner
import Rendering
import Statistics
import Text

/// `dray plan queue`: calculates the wait for one of several servers, or the number of servers for
/// a wait.
enum PlanQueueCommand {
    static let command = Command(
        "queue", summary: "Calculate queueing waits, or the servers needed for a wait.",
        discussion: """
            Arrivals share one queue in front of C servers. The load is arrivals per second \
            times seconds of service. The probability of waiting is Erlang's C; waits are \
            those of M/M/c, corrected for the variation of arrivals and service.

            Without --servers, prints the fewest servers with which the share --target-level \
            waits no longer than --within.
            """,
        options: [
            CommandOption(
                "load", .number(placeholder: "A", range: 0...1e6), required: true,
                help: "Servers that would be busy without waits, in erlangs."),
            CommandOption(
                "servers", .integer(placeholder: "C", range: 1...maximumServers),
                help: "Number of servers, or of slots of all workers together."),
            CommandOption(
                "service-time", .number(placeholder: "S", range: 1e-6...1e6),
                help: "Mean service time of a job, in seconds. Default: 1."),
            CommandOption(
                "arrival-cv2", .number(placeholder: "X", range: 0...1e4),
                help: "Squared coefficient of variation of the times between arrivals: 0 is "
                    + "constant, 1 Poisson. Default: 1."),
            CommandOption(
                "service-cv2", .number(placeholder: "X", range: 0...1e4),
                help: "The same for service times: 0 is constant, 1 exponential. Default: 1."),
            CommandOption(
                "correction",
                .choice(
                    placeholder: "NAME", of: WaitingModel.Correction.allCases.map(\.rawValue)),
                help: "Correction for variation: kimura, more accurate with many servers, or "
                    + "allen-cunneen. They differ with several servers and a CV² other than 1. "
                    + "Default: kimura."),
            CommandOption(
                "within", .number(placeholder: "T", range: 0...1e9),
                help: "Wait of the service level, in seconds. Default: 0, no wait."),
            CommandOption(
                "target-level", .number(placeholder: "P", range: 1e-6...0.999_999_999),
                help: "Share of jobs that must wait no longer than --within."),
            CommandOption("json", .flag, help: "Print JSON."),
        ], action: run)

    private static let maximumServers = 2_000_000

    @Sendable private static func run(_ arguments: Arguments) async -> ExitCode {
        do {
            let question = Question(arguments)
            if arguments.text("servers") != nil, arguments.text("target-level") != nil {
                throw UsageError(
                    "--servers and --target-level cannot be combined",
                    hint: "Omit --servers to find the fewest that reach the level.")
            }
            let servers = try arguments.integer("servers") ?? fewest(question, arguments)
            let answer = QueueAnswer(
                question.model(servers: servers), withinSeconds: question.withinSeconds,
                servers: arguments.integer("servers") == nil ? servers : nil)
            if arguments.flag("json") {
                Console.write(try answer.json())
            } else {
                Console.write(text(question, servers))
            }
            return .success
        } catch {
            return Console.fail(error)
        }
    }

    /// The question without the number of servers.
    struct Question {
        let load: Double
        let serviceSeconds: Double
        let arrivalCV2: Double
        let serviceCV2: Double
        let correction: WaitingModel.Correction
        let withinSeconds: Double

        init(_ arguments: Arguments) {
            load = arguments.number("load") ?? 0
            serviceSeconds = arguments.number("service-time") ?? 1
            arrivalCV2 = arguments.number("arrival-cv2") ?? 1
            serviceCV2 = arguments.number("service-cv2") ?? 1
            withinSeconds = arguments.number("within") ?? 0
            correction = PlanQueueCommand.correction(arguments) ?? Scenario.standardCorrection
        }

        func model(
            servers: Int, by other: WaitingModel.Correction? = nil
        ) -> WaitingModel {
            WaitingModel(
                servers: servers, load: load, serviceSeconds: serviceSeconds,
                arrivalCV2: arrivalCV2, serviceCV2: serviceCV2, correction: other ?? correction)
        }
    }

    /// Returns `--correction`; nil without it.
    static func correction(_ arguments: Arguments) -> WaitingModel.Correction? {
        arguments.choice("correction", WaitingModel.Correction.self)
    }

    private static func fewest(
        _ question: Question, _ arguments: Arguments
    ) throws(UsageError) -> Int {
        guard let level = arguments.number("target-level") else {
            throw UsageError(
                "--servers is missing", hint: "Or set --target-level and --within to find it.")
        }
        guard arguments.number("within") != nil else {
            throw UsageError(
                "--within is missing",
                hint: "Set --within T, the wait that --target-level allows.")
        }
        let fewest = WaitingModel.fewestServers(
            load: question.load, serviceSeconds: question.serviceSeconds,
            arrivalCV2: question.arrivalCV2, serviceCV2: question.serviceCV2,
            correction: question.correction, targetLevel: level,
            withinSeconds: question.withinSeconds, atMost: maximumServers)
        guard let fewest else {
            throw UsageError(
                "--target-level \(level) is not reached with \(HumanFormat.count(maximumServers)) "
                    + "servers",
                hint: "Allow a longer wait, or a lower level.")
        }
        return fewest
    }

    // MARK: Text

    /// Formats the results for one server fewer, for `servers`, and for one more.
    private static func text(_ question: Question, _ servers: Int) -> String {
        let counts = [servers - 1, servers, servers + 1].filter { $0 > 0 }
        let models = counts.map { question.model(servers: $0) }
        func row(_ title: String, _ value: (WaitingModel) -> String) -> [String] {
            [title] + models.map(value)
        }
        func percent(_ share: Double) -> String { HumanFormat.fixed(share * 100, places: 2) + " %" }
        let otherName = question.correction == .kimura ? "Allen–Cunneen" : "Kimura"
        let within = "Wait of \(PlanText.seconds(question.withinSeconds)) at most"
        let rows = [
            row("Utilisation") { percent($0.utilisation) },
            row("Probability of waiting") { percent($0.probabilityOfWait) },
            row(within) { percent($0.serviceLevel(withinSeconds: question.withinSeconds)) },
            row("Mean queue length") { PlanText.number($0.meanQueueLength) },
            row("Mean wait") { PlanText.seconds($0.meanWaitSeconds) },
            ["Mean wait by \(otherName)"]
                + counts.map {
                    PlanText.seconds(
                        question.model(servers: $0, by: question.correction.other).meanWaitSeconds)
                },
            row("p50 wait") { PlanText.seconds($0.waitSeconds(quantile: 0.5)) },
            row("p95 wait") { PlanText.seconds($0.waitSeconds(quantile: 0.95)) },
            row("p99 wait") { PlanText.seconds($0.waitSeconds(quantile: 0.99)) },
            row("Refused without a queue") {
                percent(Erlang.blocking(servers: $0.servers, load: question.load))
            },
        ]
        let table = TextLayout.table(
            headings: ["Servers"] + counts.map { HumanFormat.count($0) },
            alignments: [.left] + counts.map { _ in .right }, rows: rows)
        let noun = question.load == 1 ? "erlang" : "erlangs"
        guard question.load < Double(servers) else {
            return table
                + "\nThe load of \(PlanText.number(question.load)) \(noun) needs more than "
                + "\(HumanFormat.count(servers, "server")): the queue grows without "
                + "limit.\n"
        }
        return table
    }
}

/// The answer as JSON. Infinite values, such as those of an endlessly growing queue, are null.
struct QueueAnswer: Encodable {
    private let model: WaitingModel
    private let withinSeconds: Double
    /// Number of servers; nil if it was given.
    private let servers: Int?

    init(_ model: WaitingModel, withinSeconds: Double, servers: Int?) {
        self.model = model
        self.withinSeconds = withinSeconds
        self.servers = servers
    }

    private enum Key: String, CodingKey {
        case erlangB, probabilityOfWait, meanQueueLength, meanWaitSeconds, serviceLevel
        case utilisation, servers
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        let blocking = Erlang.blocking(servers: model.servers, load: model.load)
        try container.encode(blocking, forKey: .erlangB)
        try container.encode(model.probabilityOfWait, forKey: .probabilityOfWait)
        try container.encode(PlanText.finite(model.meanQueueLength), forKey: .meanQueueLength)
        try container.encode(PlanText.finite(model.meanWaitSeconds), forKey: .meanWaitSeconds)
        try container.encode(
            model.serviceLevel(withinSeconds: withinSeconds), forKey: .serviceLevel)
        try container.encode(model.utilisation, forKey: .utilisation)
        try container.encodeIfPresent(servers, forKey: .servers)
    }

    func json() throws -> String { try PlanText.json(self) }
}
