import CommandLine
import LoadModel
import LoadReport
import Model
import Synchronization
import TestSupport
import Testing

@testable import Client

/// One load after another, and what is made of each; the load itself is a script.
@Suite struct LoadTestSessionTests {
    private static func session(
        _ scenario: LoadScenario, _ mode: LoadTestSession.Mode, _ runner: ScriptedRunner
    ) -> LoadTestSession {
        LoadTestSession(
            scenario, mode, runner, onStep: { _, _ in }, follower: { _, _ in },
            pause: { _ in })
    }

    private static func outcome(
        _ scenario: LoadScenario, _ mode: LoadTestSession.Mode, _ runner: ScriptedRunner
    ) async throws -> LoadTestSession.Outcome {
        let session = session(scenario, mode, runner)
        try await session.run()
        return try #require(session.outcome)
    }

    /// A second in which all that a rate of `sent` sends is answered.
    private static func answered(_ sent: Double) -> LoadInterval {
        var interval = LoadInterval(second: 0)
        interval.counts.pacing.planned = Int64(sent)
        interval.counts.requests.sent = Int64(sent)
        interval.counts.requests.succeeded = Int64(sent)
        for _ in 0..<10 { interval.record(1_000, .total) }
        return interval
    }

    /// The summary, with single spaces.
    private static func text(_ outcome: LoadTestSession.Outcome) throws -> String {
        LoadSummary(outcome.result, ladder: outcome.ladder, usesUnicode: true).text
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    // MARK: Steps

    @Test func aStepHoldsOneLoad() throws {
        var scenario = try LoadScenario.scripted(users: 40)
        scenario.stages.append(LoadStage(seconds: 600, from: 40, to: 400))
        scenario.warmUpSeconds = 60
        scenario.caps.durationSeconds = 300
        scenario.caps.bytes = 7
        for (seconds, warmUp) in [(1.0, 0.0), (4.9, 0), (5, 1), (10, 2), (3_600, 2)] {
            let step = scenario.held(at: 1_500, seconds: seconds)
            #expect(step.stages == [LoadStage(seconds: seconds, from: 1_500, to: 1_500)])
            #expect(step.warmUpSeconds == warmUp && step.durationSeconds == seconds)
            #expect(step.caps.bytes == 7 && step.concurrency == 1_500)
        }
        #expect(scenario.maxLevel == 400)
    }

    @Test func aStepOfAScaleHasSoManyTimesTheUsers() throws {
        var scenario = try LoadScenario.scripted(users: 3)
        scenario.stages.append(LoadStage(seconds: 5, from: 3, to: 500))
        scenario.warmUpSeconds = 4
        scenario.caps.durationSeconds = 12
        let step = scenario.multiplied(by: 4)
        #expect(
            step.stages == [
                LoadStage(seconds: 10, from: 12, to: 12),
                LoadStage(seconds: 5, from: 12, to: 2_000),
            ])
        #expect(step.warmUpSeconds == 4 && step.durationSeconds == 12)
        #expect(step.concurrency == 2_000 && scenario.concurrency == 1_000)
    }

    /// What was enough for its users is raised for more; what viewers are given is what they have.
    @Test(arguments: [(nil, 1_000, 1_000), (600, 600, 600), (500, 600, 500)] as [(Int?, Int, Int)])
    func aStepHasSlotsForItsUsers(given: Int?, plain: Int, viewers: Int) throws {
        var scenario = try LoadScenario.scripted(users: 300)
        scenario.http.concurrency = given
        #expect(scenario.multiplied(by: 2).concurrency == plain)
        #expect(scenario.held(at: 600, seconds: 10).concurrency == plain)
        #expect(scenario.held(at: 100, seconds: 10).concurrency == given ?? 1_000)
        scenario.user = .viewers(ViewerSettings())
        #expect(scenario.multiplied(by: 2).concurrency == viewers)
        scenario.model = .open(.constant)
        #expect(scenario.held(at: 600, seconds: 10).concurrency == viewers)
    }

    // MARK: Search

    @Test func aSearchNamesNoLoadThatWasNeverSent() async throws {
        let runner = ScriptedRunner { scenario, _ in
            let level = scenario.maxLevel
            var interval = Self.answered(min(level, 700))
            interval.counts.pacing.missedSends = Int64(max(level - 700, 0))
            return .init(interval)
        }
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(rate: 100, threshold: "error_rate < 1%"),
            .search(stepSeconds: 10, most: 64_000), runner)
        let ladder = try #require(outcome.ladder)
        let highest = try #require(ladder.highest)
        let broken = try #require(ladder.lowestBroken)
        #expect(highest <= 700 && broken > 700 && broken < 740)
        #expect(ladder.limit == .missedSends && outcome.exitCode == .success)
        #expect(outcome.result.total.counts.pacing.missedSends == 0)
        let text = LoadSummary(outcome.result, ladder: ladder, usesUnicode: true).text
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(text.contains("requests that were due were never sent (http.concurrency)"))
        #expect(text.contains("was not found"))
    }

    /// A server that answers 300 a second and queues the rest fails nothing, and each of its answers
    /// comes.
    @Test func aTargetThatFallsBehindIsAtItsLimit() async throws {
        let runner = ScriptedRunner { scenario, _ in
            let level = scenario.maxLevel
            return .init(
                (0..<10).map { second in
                    var interval = Self.answered(min(level, 300))
                    interval.second = second
                    interval.isMeasured = second >= 2
                    interval.counts.pacing.planned = Int64(level)
                    let unanswered = max(level - 300, 0) * Double(second + 1)
                    // What is under way at a rate that it serves is no growth.
                    interval.counts.levels.inFlight = Int64(unanswered + level / 5)
                    return interval
                })
        }
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(rate: 50), .search(stepSeconds: 10, most: 64_000), runner)
        let ladder = try #require(outcome.ladder)
        let (highest, broken) = (ladder.highest ?? 0, ladder.lowestBroken ?? 0)
        #expect(highest > 285 && highest < 315 && broken < 330, "\(highest), \(broken)")
        #expect(ladder.limit == .fellBehind && outcome.exitCode == .success)
        let text = LoadSummary(outcome.result, ladder: ladder, usesUnicode: true).text
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(text.contains("the target fell behind: it answered fewer requests"), "\(text)")
        #expect(!text.contains("not found"))
        let none = try await Self.outcome(
            try LoadScenario.scripted(rate: 600), .search(stepSeconds: 10, most: 600, seconds: 10),
            runner)
        #expect(none.ladder?.highest == nil && none.exitCode == .thresholdBroken)
    }

    @Test func aGeneratorAtItsLimitIsNotWhatWasTested() async throws {
        let runner = ScriptedRunner { scenario, _ in
            var interval = Self.answered(scenario.maxLevel)
            if scenario.maxLevel > 300 {
                interval.counts.pacing.lateSends = 50
                interval.counts.cpuSeconds = 0.7 * scenario.measuredSeconds(atSeconds: 10)
            }
            return .init(interval)
        }
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(rate: 200, threshold: "error_rate < 1%"),
            .search(stepSeconds: 10, most: 64_000), runner)
        let ladder = try #require(outcome.ladder)
        #expect(ladder.highest ?? 0 <= 300 && ladder.limit == .generator)
        // Each load that it did not send is tried once more, and the reason is named.
        let failed = ladder.steps.filter { $0.limit == .generator }.map(\.level)
        #expect(failed.count == 2 * Set(failed).count && failed.count >= 2)
        let text = try Self.text(outcome)
        #expect(text.contains(/[0-9.]+ % generator's limit: CPU 70 %/), "\(text)")
        #expect(
            text.contains(/the generator itself was the limit \(CPU 70 %, [0-9.]+ % sent late\)/))
        #expect(!ladder.isConclusive)
        // Where not even the least was sent, nothing that was tested has broken.
        let none = try await Self.outcome(
            try LoadScenario.scripted(rate: 2_000, threshold: "error_rate < 1%"),
            .search(stepSeconds: 10, most: 64_000),
            ScriptedRunner { _, _ in
                var interval = Self.answered(100)
                interval.counts.pacing.missedSends = 1
                return .init(interval)
            })
        #expect(none.ladder?.highest == nil && none.exitCode == .noCluster)
    }

    /// A busy moment of the machine: the same load is sent in time when it is tried again.
    @Test func aMomentOfTheGeneratorIsNotItsLimit() async throws {
        let tried = Mutex<[Double]>([])
        let runner = ScriptedRunner { scenario, _ in
            var interval = Self.answered(scenario.maxLevel)
            let isFirst = tried.withLock { levels in
                defer { levels.append(scenario.maxLevel) }
                return !levels.contains(scenario.maxLevel)
            }
            if scenario.maxLevel == 400, isFirst { interval.counts.pacing.lateSends = 50 }
            return .init(interval)
        }
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(rate: 200, threshold: "error_rate < 1%"),
            .search(stepSeconds: 10, most: 800), runner)
        #expect(tried.withLock { $0 } == [200, 400, 400, 800])
        #expect(outcome.ladder?.highest == 800 && outcome.ladder?.limit == nil)
    }

    @Test func capsAreThoseOfAllStepsTogether() async throws {
        let sent = Mutex<Int64>(0)
        let runner = ScriptedRunner { scenario, _ in
            let cap = scenario.caps.requests ?? .max
            let wanted = Int64(scenario.maxLevel)
            sent.withLock { $0 += min(wanted, cap) }
            return .init(
                Self.answered(Double(min(wanted, cap))), cap <= wanted ? .capped : .finished)
        }
        var scenario = try LoadScenario.scripted(rate: 50, threshold: "error_rate < 1%")
        scenario.caps.requests = 200
        let outcome = try await Self.outcome(
            scenario, .search(stepSeconds: 10, most: 64_000), runner)
        #expect(sent.withLock { $0 } == 200)
        // 50 and 100 were sent whole; what the caps ended has shown nothing.
        #expect(outcome.ladder?.steps.map(\.level) == [50, 100, 200])
        #expect(outcome.ladder?.highest == 100 && outcome.ladder?.lowestBroken == nil)
        #expect(outcome.ladder?.cap == .requests)

        sent.withLock { $0 = 0 }
        var users = try LoadScenario.scripted(users: 80)
        users.caps.requests = 300
        let scale = try await Self.outcome(users, .scale([1, 2, 4]), runner)
        #expect(sent.withLock { $0 } == 300 && scale.ladder?.steps.count == 3)
    }

    @Test func noStepIsBegunThatWouldGoBeyondTheTime() async throws {
        let runner = ScriptedRunner { scenario, _ in .init(Self.answered(scenario.maxLevel)) }
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(rate: 50, threshold: "error_rate < 1%"),
            .search(stepSeconds: 10, most: 64_000, seconds: 25), runner)
        #expect(outcome.ladder?.steps.map(\.level) == [50, 100])
        #expect(outcome.ladder?.cap == .seconds && outcome.ladder?.highest == 100)
        let warnings = outcome.result.warnings.joined()
        #expect(warnings.contains("its duration leaves no time for another step."))
        #expect(!warnings.contains("a limit of requests"))
        // Two loads that pass do not show that the limit is higher.
        let text = try Self.text(outcome)
        #expect(
            text.contains(
                "All thresholds pass with 100/s, the highest load tried: the limit was not found. "
                    + "The duration left no time for another step."), "\(text)")
        #expect(!text.contains("limit of requests") && outcome.ladder?.isConclusive == false)
        let most = try await Self.outcome(
            try LoadScenario.scripted(rate: 50, threshold: "error_rate < 1%"),
            .search(stepSeconds: 10, most: 100), runner)
        #expect(most.ladder?.cap == nil && most.ladder?.isConclusive == false)
        #expect(most.ladder?.passesMaximum == true && outcome.ladder?.passesMaximum == false)
        #expect(try Self.text(most).contains("the limit was not reached."))
    }

    // MARK: Scale

    /// The last step speaks for itself alone.
    @Test func whatBrokeInAnEarlierStepOfAScaleIsNoSuccess() async throws {
        let slowAtFirst = ScriptedRunner { scenario, workers in
            .init(Self.answered(workers == 1 ? 10 : 4_000))
        }
        let broken = try await Self.outcome(
            try LoadScenario.scripted(users: 1, threshold: "rate > 20/s"), .scale([1, 2]),
            slowAtFirst)
        #expect(broken.result.broken.isEmpty && broken.exitCode == .thresholdBroken)

        let loses = ScriptedRunner { scenario, workers in
            var answer = ScriptedRunner.Answer(Self.answered(40))
            answer.shards = [
                LoadShardReport(index: 0, worker: "a", state: workers == 2 ? .lost : .finished)
            ]
            return answer
        }
        let lost = try await Self.outcome(
            try LoadScenario.scripted(users: 1), .scale([1, 2, 4]), loses)
        #expect(lost.ladder?.steps.count == 3 && lost.exitCode == .noCluster)
        // What the lost one has sent last may have been all that was left.
        var capped = try LoadScenario.scripted(users: 1)
        capped.caps.requests = 1_000_000
        let ended = try await Self.outcome(capped, .scale([1, 2, 4]), loses)
        #expect(ended.ladder?.steps.count == 2 && ended.ladder?.cap == .requests)
    }

    @Test func aBreakThatEndsTheTestEndsTheScale() async throws {
        let runner = ScriptedRunner { _, workers in
            .init(Self.answered(40), workers == 2 ? .aborted : .finished)
        }
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(users: 1), .scale([1, 2, 4, 8]), runner)
        #expect(outcome.ladder?.steps.map(\.level) == [1, 2])
        #expect(outcome.exitCode == .thresholdBroken)
    }

    // MARK: Failures

    @Test func whatFailsLaterLeavesTheStepsThatAreDone() async throws {
        let runner = ScriptedRunner { scenario, workers in
            guard workers != 3 else {
                throw Failure("cluster.fewWorkers", "2 of the 3 workers were ready in time.")
            }
            return .init(Self.answered(scenario.maxLevel))
        }
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(users: 10), .scale([1, 2, 3]), runner)
        #expect(outcome.ladder?.steps.map(\.level) == [1, 2])
        #expect(outcome.failure?.code == "cluster.fewWorkers")
        #expect(outcome.result.total.counts.requests.succeeded == 20)
        let warning = try #require(outcome.result.warnings.first)
        #expect(warning.contains("after 2 loads") && warning.contains("2 of the 3 workers"))
        #expect(try LoadJSON.text(outcome.result, ladder: outcome.ladder).contains("fewWorkers"))
        // Without a request there is nothing to report.
        await #expect(throws: Failure.self) {
            try await Self.session(
                try LoadScenario.scripted(users: 10), .scale([3, 2]), runner
            ).run()
        }
    }

    @Test func aRunThatCannotBeFollowedIsReportedUpToThen() async throws {
        let runner = ScriptedRunner { scenario, _ in
            var answer = ScriptedRunner.Answer(Self.answered(40), .interrupted)
            answer.failure = Failure("cluster.coordinatorUnreachable", "nobody is there")
            return answer
        }
        let outcome = try await Self.outcome(try LoadScenario.scripted(users: 10), .once, runner)
        #expect(outcome.result.total.counts.requests.succeeded == 40)
        #expect(outcome.failure?.code == "cluster.coordinatorUnreachable")
        #expect(outcome.result.warnings.contains { $0.contains("nobody is there") })
    }

    @Test func aLostWorkerIsNoSuccess() async throws {
        let runner = ScriptedRunner { _, _ in
            var answer = ScriptedRunner.Answer(Self.answered(40))
            answer.shards = [
                LoadShardReport(index: 0, worker: "a", state: .finished),
                LoadShardReport(index: 1, worker: "b", state: .lost),
            ]
            answer.shardsWithoutBreakdown = [1]
            return answer
        }
        let outcome = try await Self.outcome(
            try LoadScenario.scripted(rate: 40, threshold: "error_rate < 1%"), .once, runner)
        #expect(outcome.exitCode == .noCluster && outcome.failure == nil)
        #expect(
            outcome.result.warnings.contains {
                $0.contains("tables by URL, target and rendition omit shard 2 of 2")
            })
        let broken = try await Self.outcome(
            try LoadScenario.scripted(rate: 40, threshold: "error_rate > 1%"), .once, runner)
        #expect(broken.exitCode == .thresholdBroken)
    }

    // MARK: Abort

    /// Answers that take longer than a second break nothing before the first has come.
    @Test func nothingBreaksBeforeItIsMeasured() async throws {
        var scenario = try LoadScenario.scripted(rate: 40, threshold: "p99(total) < 3s")
        scenario.thresholds[0].abortAfterSeconds = 0
        let slow = ScriptedRunner { _, _ in
            var later = LoadInterval(second: 1)
            later.record(1_500_000, .total)
            return .init([LoadInterval(second: 0), later])
        }
        _ = try await Self.outcome(scenario, .once, slow)
        #expect(slow.stops.isEmpty)
        let broken = ScriptedRunner { _, _ in
            var interval = LoadInterval(second: 0)
            interval.record(3_500_000, .total)
            return .init(interval)
        }
        _ = try await Self.outcome(scenario, .once, broken)
        #expect(broken.stops == [.aborted])
    }
}
