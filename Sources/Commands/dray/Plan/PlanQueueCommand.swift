import Client
import CommandLine
import Planner
import Rendering
import Services

/// `dray plan queue`: calculates the wait for one of several servers, or the number of servers for
/// a wait.
enum PlanQueueCommand {
    static let command = Command(
        "queue", summary: "Calculate queueing waits, or the servers needed for a wait.",
        discussion: """
            Arrivals share one queue in front of C servers. The load is arrivals per second \
            times seconds of service. Waits are those of M/M/c, corrected for the variation of \
            arrivals and service. Beyond the range in which these formulas are verified, the \
            queue is simulated instead, and the output says so.

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
            CommandOption(
                "method", .choice(placeholder: "NAME", of: Method.allCases.map(\.rawValue)),
                help: "auto, formula or simulation. Default: auto, the formula within its range."),
            CommandOption(
                "service-shape",
                .choice(
                    placeholder: "NAME", of: TimeDistribution.Shape.allCases.map(\.rawValue)),
                help: "Distribution of simulated service times: lognormal, or phases (fixed, gamma "
                    + "or exponentials, by the CV²). Default: lognormal, or phases for a CV² of 1."),
            CommandOption(
                "jobs", .integer(placeholder: "N", range: 1_000...200_000_000),
                help: "Maximum number of jobs to simulate for each number of servers. Default: "
                    + "20000000."),
            CommandOption(
                "seed", .integer(placeholder: "N", range: 0...Int.max),
                help: "Random seed of the simulation. Default: 1."),
            CommandOption("json", .flag, help: "Print JSON."),
        ], action: run)

    /// The method for finding waits.
    private enum Method: String, CaseIterable {
        case auto, formula, simulation
    }

    private static let maximumServers = 2_000_000

    @Sendable private static func run(_ arguments: Arguments) async -> ExitCode {
        do {
            let question = question(arguments)
            if arguments.text("servers") != nil, arguments.text("target-level") != nil {
                throw UsageError(
                    "--servers and --target-level cannot be combined",
                    hint: "Omit --servers to find the fewest that reach the level.")
            }
            let simulation = try simulation(question, arguments)
            // A simulation takes long, and nothing has to be stopped in order.
            let answer = try ProcessSignals.withDefaultAction { () throws(UsageError) in
                let given = arguments.integer("servers")
                let servers: Int
                if let given {
                    servers = given
                } else {
                    servers = try fewest(question, arguments, simulation)
                }
                return QueueAnswer(
                    question, simulation, servers: servers, isFound: given == nil,
                    withinSeconds: arguments.number("within") ?? 0,
                    columns: arguments.flag("json") ? 1 : 3)
            }
            Console.write(arguments.flag("json") ? try PlanText.json(answer) : answer.text)
            return .success
        } catch {
            return Console.fail(error)
        }
    }

    private static func question(_ arguments: Arguments) -> QueueQuestion {
        let serviceCV2 = arguments.number("service-cv2") ?? 1
        return QueueQuestion(
            load: arguments.number("load") ?? 0,
            serviceSeconds: arguments.number("service-time") ?? 1,
            arrivalCV2: arguments.number("arrival-cv2") ?? 1, serviceCV2: serviceCV2,
            correction: correction(arguments) ?? Scenario.standardCorrection,
            serviceShape: arguments.choice("service-shape", TimeDistribution.Shape.self)
                ?? QueueQuestion.standardShape(serviceCV2: serviceCV2))
    }

    /// Returns the simulation to use; nil for the formula.
    private static func simulation(
        _ question: QueueQuestion, _ arguments: Arguments
    ) throws(UsageError) -> QueueSimulation? {
        let method = arguments.choice("method", Method.self) ?? .auto
        let isTooLarge = question.load > QueueSimulation.maxLoad
        switch method {
        case .formula: return nil
        case .auto: if isTooLarge || FormulaRange(question).holds { return nil }
        case .simulation:
            guard !isTooLarge else {
                throw UsageError(
                    "--load is \(PlanText.number(question.load)) with --method simulation",
                    hint: "Up to \(PlanText.number(QueueSimulation.maxLoad)) erlangs can be "
                        + "simulated; use --method formula.")
            }
        }
        return QueueSimulation(
            seed: UInt64(arguments.integer("seed") ?? 1),
            maxJobs: arguments.integer("jobs") ?? QueueSimulation.standardJobs)
    }

    /// Returns `--correction`; nil without it.
    static func correction(_ arguments: Arguments) -> WaitingModel.Correction? {
        arguments.choice("correction", WaitingModel.Correction.self)
    }

    private static func fewest(
        _ question: QueueQuestion, _ arguments: Arguments, _ simulation: QueueSimulation?
    ) throws(UsageError) -> Int {
        guard let level = arguments.number("target-level") else {
            throw UsageError(
                "--servers is missing", hint: "Or set --target-level and --within to find it.")
        }
        guard let within = arguments.number("within") else {
            throw UsageError(
                "--within is missing",
                hint: "Set --within T, the wait that --target-level allows.")
        }
        let fewest = question.fewestServers(
            targetLevel: level, withinSeconds: within, atMost: maximumServers, simulation)
        guard let fewest else {
            throw UsageError(
                "--target-level \(level) is not reached with \(HumanFormat.count(maximumServers)) "
                    + "servers",
                hint: "Allow a longer wait, or a lower level.")
        }
        return fewest
    }
}
