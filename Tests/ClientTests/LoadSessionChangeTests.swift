import CommandLine
import Glibc
import LoadModel
import LoadReport
import Model
import Testing

@testable import Client

/// Changes of the load of a running test, as its report has them; the load itself is a script.
@Suite struct LoadSessionChangeTests {
    private static func scenario(
        _ model: LoadModel, _ level: Double
    ) -> LoadScenario {
        var scenario = LoadScenario()
        scenario.model = model
        scenario.stages = [LoadStage(seconds: 10, from: level, to: level)]
        return scenario
    }

    private static func session(
        _ scenario: LoadScenario, _ mode: LoadTestSession.Mode = .once,
        _ changes: [LoadChange] = [],
        onChange: @escaping @Sendable (LoadScenario) -> Void = { _ in }
    ) -> LoadTestSession {
        let runner = ScriptedRunner { _, _ in
            var answer = ScriptedRunner.Answer(LoadInterval(second: 0))
            answer.changes = changes
            return answer
        }
        return LoadTestSession(
            scenario, mode, runner, onStep: { _, _ in }, follower: { _, _ in },
            onChange: onChange, pause: { _ in })
    }

    @Test func eachIsInTheReportWithItsTime() async throws {
        let stages = [
            LoadStage(seconds: 4, from: 50, to: 50), LoadStage(seconds: 3.5, from: 200, to: 200),
            LoadStage(seconds: 2.5, from: 0.5, to: 0.5),
        ]
        try await confirmation(expectedCount: 2) { confirm in
            let session = Self.session(
                Self.scenario(.open(.constant), 50), .once,
                [LoadChange(seconds: 4, level: 200), LoadChange(seconds: 7.5, level: 0.5)],
                onChange: { _ in confirm() })
            try await session.run()
            let result = try #require(session.outcome?.result)
            #expect(result.scenario.stages == stages)
            let warnings = result.warnings.joined()
            #expect(
                warnings.contains("changed while it ran, to 200/s after 4.0 s."), "\(warnings)")
            #expect(warnings.contains("to 0.5/s after 7.5 s."), "\(warnings)")
        }
    }

    /// A coordinator may hang: there is such a test, and the change may have been made.
    @Test func aTestThatDoesNotAnswerIsNoUnknownOne() throws {
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        let control = try LoadControl { _ in for await _ in answers {} }
        defer {
            answer.finish()
            control.close()
        }
        #expect {
            try LoadControl.send("5", toProcess: getpid(), atMostSeconds: 0.2)
        } throws: {
            guard let failure = $0 as? Failure else { return false }
            return failure.code == .clusterCoordinatorUnreachable
                && ExitCode(failure.code) == .noCluster
                && failure.message.contains("did not answer in time; the change may have been made")
        }
    }

    @Test func whatCannotChangeIsRefusedWithAReason() async throws {
        let rate = Self.scenario(.open(.constant), 50)
        let users = Self.scenario(.closed, 5)
        var replay = LoadScenario()
        replay.setReplay(
            LoadReplay(
                name: "l", urls: ["http://h/a"], count: 1, logSeconds: 9, speedUp: 1
            ) { _, _ in [] })
        let rejections: [(LoadScenario, LoadTestSession.Mode, Double, FailureCode, String)] = [
            (rate, .once, 5, .inputLoadFixed, "running test"),
            (rate, .scale([1]), 5, .inputLoadFixed, "without --search and --scale"),
            (replay, .once, 5, .inputLoadFixed, "keeps the log's times"),
            (rate, .once, 1_000_001, .inputField, "allowed 0 to 1000000 arrivals per second"),
            (rate, .once, -1, .inputField, "given -1"),
            (users, .once, 1_001, .inputField, "a whole number of users up to 1000"),
            (users, .once, 2.5, .inputField, "given 2.5"),
        ]
        for (scenario, mode, level, code, message) in rejections {
            let session = Self.session(scenario, mode)
            await #expect {
                try await session.change(to: level)
            } throws: {
                let failure = $0 as? Failure
                return failure?.code == code && failure?.message.contains(message) == true
            }
        }
    }
}
