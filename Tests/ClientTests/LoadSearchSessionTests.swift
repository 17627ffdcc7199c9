import CommandLine
import LoadModel
import LoadReport
import Model
import Synchronization
import TestSupport
import Testing

@testable import Client

/// Searches on machines that do other work, and searches that end before they find a limit; the load
/// itself is a script.
@Suite struct LoadSearchSessionTests {
    /// Ten seconds of answers to `sent` requests in all, of which some fail or were sent late.
    private static func answered(
        _ sent: Double, failed: Double = 0, late: Double = 0, cpuSeconds: Double = 0.2
    ) -> ScriptedRunner.Answer {
        var interval = LoadInterval(second: 0)
        interval.counts.pacing.planned = Int64(sent)
        interval.counts.requests.sent = Int64(sent)
        interval.counts.requests.failed = Int64(failed)
        interval.counts.requests.succeeded = Int64(sent - failed)
        interval.counts.pacing.lateSends = Int64(late)
        interval.counts.cpuSeconds = cpuSeconds
        for _ in 0..<10 { interval.record(1_000, .total) }
        return .init(interval)
    }

    private static func outcome(
        _ scenario: LoadScenario, most: Double = 64_000, stepSeconds: Double = 10,
        _ runner: ScriptedRunner, pause: @escaping LoadTestService.Pause = { _ in }
    ) async throws -> LoadTestSession.Outcome {
        let session = LoadTestSession(
            scenario, .search(stepSeconds: stepSeconds, most: most), runner, onStep: { _, _ in },
            follower: { _, _ in }, pause: pause)
        try await session.run()
        return try #require(session.outcome)
    }

    /// The summary, with single spaces.
    private static func text(_ outcome: LoadTestSession.Outcome) -> String {
        LoadSummary(outcome.result, ladder: outcome.ladder, usesUnicode: true).text
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func json(_ outcome: LoadTestSession.Outcome) throws -> String {
        try LoadJSON.text(outcome.result, ladder: outcome.ladder)
    }

    // MARK: Busy machines

    /// Something else takes the CPU from some load on: the search says so and does not go down.
    @Test(arguments: [true, false]) func otherWorkOnTheMachineIsNoLimit(isRate: Bool) async throws {
        let pauses = Mutex<[Double]>([])
        let runner = ScriptedRunner { scenario, _ in
            let level = scenario.maxLevel
            return Self.answered(level * 8, late: level >= 300 ? level / 2 : 0)
        }
        let outcome = try await Self.outcome(
            isRate ? try LoadScenario.scripted(rate: 150) : try LoadScenario.scripted(users: 150),
            runner
        ) { seconds in pauses.withLock { $0.append(seconds) } }
        let ladder = try #require(outcome.ladder)
        #expect(ladder.steps.map(\.level) == [150, 300, 300, 300, 300])
        #expect(pauses.withLock { $0 } == LoadSearch.busyPauses)
        #expect(ladder.highest == 150 && ladder.lowestBroken == nil && !ladder.isConclusive)
        #expect(ladder.stop?.reason == .machineBusy && ladder.stop?.level == 300)
        let text = Self.text(outcome)
        let level = isRate ? "300/s" : "300 users"
        #expect(
            text.contains(
                "With \(level), 6.25 % of the requests were sent late, in the last of 4 tries, although "
                    + "the generator used 2.50 % of its 1 core: the machine is busy with other work, and "
                    + "the limit was not found. Search again on a quiet machine."), "\(text)")
        #expect(!text.contains("generator itself") && !text.contains("dray plan"))
        #expect(text.contains("6.25 % machine busy"), "\(text)")
        let json = try Self.json(outcome)
        #expect(
            json.contains("\"reason\" : \"machineBusy\"")
                && json.contains("\"limit\" : \"machineBusy\""))
    }

    /// Late sends come in bursts, which broke the threshold; the server can do more.
    @Test func whatBreaksWhileSendsAreLateIsTriedAgain() async throws {
        let tries = Mutex<[Double: Int]>([:])
        let runner = ScriptedRunner { scenario, _ in
            let level = scenario.maxLevel
            let attempt = tries.withLock { tries in
                tries[level, default: 0] += 1
                return tries[level] ?? 0
            }
            let isDisturbed = level == 400 && attempt <= 2
            let failed = level > 1_200 ? level : isDisturbed ? level / 5 : 0
            return Self.answered(level * 8, failed: failed, late: isDisturbed ? level / 3 : 0)
        }
        let outcome = try await Self.outcome(try LoadScenario.scripted(rate: 200), runner)
        let ladder = try #require(outcome.ladder)
        #expect(ladder.steps.prefix(5).map(\.level) == [200, 400, 400, 400, 800])
        #expect(ladder.steps[1].limit == .machineBusy && ladder.steps[3].limit == nil)
        let (highest, broken) = (ladder.highest ?? 0, ladder.lowestBroken ?? 0)
        #expect(highest <= 1_200 && highest > 1_140 && broken > 1_200, "\(highest), \(broken)")
        #expect(ladder.isConclusive && ladder.limit == .threshold)
        // The rows of the disturbed tries show both.
        let text = Self.text(outcome)
        #expect(text.contains("4.16 % machine busy; broken: error_rate"), "\(text)")
        #expect(LoadHTML(outcome.result, ladder: ladder).text.contains("machine busy; broken: "))
        // What it found is ready for a plan.
        let plan = "dray plan --origin-requests \(Int(highest.rounded()))"
        #expect(text.contains("To plan with this limit: \(plan)"), "\(text)")
        #expect(try Self.json(outcome).contains("\"plan\" : \"\(plan)\""))
    }

    @Test func whatStaysDisturbedIsNoLimitOfTheTarget() async throws {
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(rate: 400),
            ScriptedRunner { scenario, _ in
                let level = scenario.maxLevel
                return Self.answered(
                    level * 8, failed: level > 700 ? level / 5 : 0,
                    late: level > 700 ? level / 3 : 0)
            })
        let ladder = try #require(outcome.ladder)
        #expect(ladder.highest == 400 && ladder.lowestBroken == nil && !ladder.isConclusive)
        let text = Self.text(outcome)
        #expect(text.contains("All thresholds pass with 400/s. With 800/s,"), "\(text)")
        #expect(text.contains("the thresholds that failed there show no limit of the target."))
        // A generator that is busy itself is searched below, without certainty.
        let own = try await Self.outcome(
            try LoadScenario.scripted(rate: 400),
            ScriptedRunner { scenario, _ in
                let level = scenario.maxLevel
                return Self.answered(
                    level * 8, failed: level > 700 ? level / 5 : 0,
                    late: level > 700 ? level / 3 : 0,
                    cpuSeconds: level > 700 ? 5.6 : 0.2)
            })
        #expect(own.ladder?.limit == .generator && own.ladder?.isConclusive == false)
        #expect((own.ladder?.lowestBroken ?? 0) < 740)
        #expect(
            Self.text(own).contains("a threshold failed, but the generator itself was the limit"))
    }

    // MARK: Backlogs

    /// The seconds of a server that answers 300 a second at once and queues the rest, while a share
    /// of the requests is sent late.
    private static func queued(_ scenario: LoadScenario, late: Double = 0) -> ScriptedRunner.Answer
    {
        let level = scenario.maxLevel
        return .init(
            (0..<Int(scenario.durationSeconds)).map { second in
                var interval = LoadInterval(second: second)
                interval.isMeasured = Double(second) >= scenario.warmUpSeconds
                interval.counts.pacing.planned = Int64(level)
                interval.counts.requests.sent = Int64(level)
                interval.counts.requests.succeeded = Int64(min(level, 300))
                interval.counts.pacing.lateSends = Int64(level * late)
                interval.counts.levels.inFlight = Int64(max(level - 300, 0) * Double(second + 1))
                interval.record(1_000, .total)
                return interval
            })
    }

    @Test(arguments: [(2.0, 1.08), (3, 1.08), (4, 1.03), (5, 1.03), (10, 1.02)])
    func aBacklogIsSeenInStepsOfEveryLength(seconds: Double, most: Double) async throws {
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(rate: 50), stepSeconds: seconds,
            ScriptedRunner { scenario, _ in Self.queued(scenario) })
        let highest = try #require(outcome.ladder?.highest)
        #expect(highest > 285 && highest < 300 * most, "\(highest)")
        #expect(outcome.ladder?.limit == .fellBehind && outcome.ladder?.isConclusive == true)
        #expect(Self.text(outcome).contains(" Margin: −"), "\(Self.text(outcome))")
    }

    /// What was sent late cannot explain it: the target is judged.
    @Test func aBacklogLargerThanTheLateSendsIsTheTargets() async throws {
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(rate: 50),
            ScriptedRunner { scenario, _ in
                Self.queued(scenario, late: scenario.maxLevel > 320 ? 0.02 : 0)
            })
        let ladder = try #require(outcome.ladder)
        #expect(ladder.highest ?? 0 > 285 && ladder.highest ?? 0 < 306 && ladder.isConclusive)
        let late = try #require(ladder.steps.first { $0.level == 400 })
        #expect(late.result.machineIsBusy && late.limit == .fellBehind)
        #expect(Self.text(outcome).contains("2 % the target fell behind"), "\(Self.text(outcome))")
        // As many sent late as wait: it may be either.
        let either = try await Self.outcome(
            try LoadScenario.scripted(rate: 300),
            ScriptedRunner { scenario, _ in
                Self.queued(scenario, late: scenario.maxLevel > 320 ? 0.25 : 0)
            })
        #expect(either.ladder?.stop?.reason == .machineBusy && either.ladder?.highest == 300)
    }

    // MARK: Ends

    @Test func anInterruptedSearchSaysWhere() async throws {
        let runner = ScriptedRunner { scenario, _ in
            var answer = Self.answered(scenario.maxLevel * 8)
            if scenario.maxLevel > 50 { answer.ending = .interrupted }
            return answer
        }
        let outcome = try await Self.outcome(try LoadScenario.scripted(rate: 50), runner)
        #expect(outcome.exitCode == .interrupted && outcome.ladder?.isConclusive == false)
        let text = Self.text(outcome)
        #expect(
            text.contains(
                "All thresholds pass with 50/s. It was interrupted at 100/s: the limit was not found."
            ),
            "\(text)")
        #expect(!text.contains("the highest load tried") && !text.contains("dray plan"))
        #expect(try Self.json(outcome).contains("\"reason\" : \"interrupted\""))
    }

    /// Ctrl-C in the pause before a further try.
    @Test func aSearchIsInterruptedWhileItWaits() async throws {
        let runner = ScriptedRunner { scenario, _ in
            Self.answered(scenario.maxLevel * 8, late: scenario.maxLevel > 50 ? 40 : 0)
        }
        let outcome = try await Self.outcome(try LoadScenario.scripted(rate: 50), runner) { _ in
            throw CancellationError()
        }
        #expect(outcome.ladder?.steps.map(\.level) == [50, 100])
        #expect(outcome.ladder?.stop?.level == 100 && outcome.exitCode == .interrupted)
        #expect(Self.text(outcome).contains("It was interrupted at 100/s"))
    }

    @Test func aFailedStepIsNoHighestLoad() async throws {
        let runner = ScriptedRunner { scenario, _ in
            guard scenario.maxLevel <= 50 else {
                throw Failure("cluster.fewWorkers", "2 of the 3 workers were ready in time.")
            }
            return Self.answered(scenario.maxLevel * 8)
        }
        let outcome = try await Self.outcome(try LoadScenario.scripted(rate: 50), runner)
        #expect(outcome.failure?.code == "cluster.fewWorkers")
        #expect(outcome.ladder?.isConclusive == false)
        #expect(Self.text(outcome).contains("It failed at 100/s: the limit was not found."))
    }

    // MARK: Throughput

    /// A server that is full with 20 users, and answers all that more of them send, later.
    @Test func usersEndWhereThroughputStopsRising() async throws {
        let runner = ScriptedRunner { scenario, _ in
            Self.answered(min(scenario.maxLevel * 1_000, 20_000) * 8, cpuSeconds: 4)
        }
        let outcome = try await Self.outcome(try LoadScenario.scripted(users: 10), runner)
        let ladder = try #require(outcome.ladder)
        #expect(ladder.steps.map(\.level) == [10, 20, 40, 80, 160])
        #expect(ladder.knee == .init(level: 20, perSecond: 20_000) && ladder.highest == 160)
        #expect(outcome.result.scenario.maxLevel == 20 && outcome.exitCode == .success)
        #expect(ladder.isConclusive)
        let text = Self.text(outcome)
        #expect(
            text.contains(
                "Throughput stopped rising at 20 users: 20,000/s. Up to 160 users, it grew by less "
                    + "than 10 %."), "\(text)")
        #expect(try Self.json(outcome).contains("\"requestsPerSecond\" : 20000"))
        // With a bound on latency, the users that it allows are searched for.
        let bounded = try await Self.outcome(
            try LoadScenario.scripted(users: 10, threshold: "p99(total) < 1s"), most: 640, runner)
        #expect(bounded.ladder?.knee == nil && bounded.ladder?.highest == 640)
    }
}
