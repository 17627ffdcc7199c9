import API
import Coordinator
import Foundation
import JobQueue
import Model
import PlanReport
import Planner
import TestSupport
import Testing

/// What KEDA makes of a plan's objects.
@Suite struct ScalingTests {
    /// What of a `ScaledObject` decides how many replicas there are.
    private struct Scaled {
        let least: Int
        let most: Int
        let target: Double
        let policy: PoolPolicy

        /// Of the YAML itself, as a coordinator would read its address.
        init(_ plan: Plan) throws {
            let text = try PlanManifests.keda.text(plan, version: "1")
            func value(_ name: String, until end: Character) throws -> Double {
                let start = try #require(text.range(of: name)).upperBound
                return try #require(Double(text[start...].prefix { $0 != end }))
            }
            least = Int(try value("minReplicaCount: ", until: "\n"))
            most = Int(try value("maxReplicaCount: ", until: "\n"))
            target = try value("targetValue: \"", until: "\"")
            var policy = PoolPolicy(
                workerSegmentsPerSecond: try value("workerSegmentsPerSecond=", until: "&"))
            policy.withinSeconds = try value("withinSeconds=", until: "&")
            policy.bootSeconds = try value("bootSeconds=", until: "&")
            policy.minimum = Int(try value("minimum=", until: "&"))
            policy.maximum = Int(try value("maximum=", until: "\""))
            self.policy = policy
        }

        /// What Kubernetes' autoscaler makes of KEDA's metric (an average value): metric over target,
        /// rounded up, within the bounds; nothing where that is a tenth off what there is.
        func next(_ replicas: Int, _ load: PoolLoad) -> Int {
            let metric = Double(WorkersWanted.decide(load, policy).workers)
            let ratio = metric / (target * Double(replicas))
            guard abs(ratio - 1) > 0.1 else { return replicas }
            return min(max(Int((metric / target).rounded(.up)), least), most)
        }
    }

    private static let scenarios: [[ScenarioInput: Double]] = [
        [:],
        [.monthlyActiveUsers: 200_000, .contention: 0.01],
        [.monthlyActiveUsers: 50_000_000, .hitRatio: 0.99],
        // The fill alone, on demand alone, hardly anything, and one in haste.
        [.titles: 50_000, .hitRatio: 1],
        [.changePerDay: 0, .hitRatio: 0.95, .monthlyActiveUsers: 5_000_000],
        [.titles: 1, .minutesPerTitle: 1, .changePerDay: 0.01, .hitRatio: 1],
        [.deadlineHours: 0.05, .bootSeconds: 120, .attempts: 3, .spareWorkers: 4],
    ]

    private static func plan(_ given: [ScenarioInput: Double]) throws -> Plan {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        var options = Plan.Options()
        (options.months, options.draws) = (0, 0)
        return try Plan(scenario, options)
    }

    private func load(_ jobs: Double, _ policy: PoolPolicy, workers: Int, busy: Int) -> PoolLoad {
        PoolLoad(
            backlogs: [
                PoolLoad.Backlog(
                    jobs: Int(jobs.rounded(.up)), deadlineSeconds: policy.withinSeconds)
            ], leased: busy, busy: busy, workers: workers, hasWork: jobs > 0)
    }

    /// From the least, when the night's fill is there, to what the plan has, and back when it is done.
    @Test(arguments: scenarios)
    func thePoolReachesThePlansPeak(given: [ScenarioInput: Double]) throws {
        let plan = try Self.plan(given)
        let scaled = try Scaled(plan)
        let (workers, demand) = (plan.sizing.workers, plan.sizing.demand)
        let total = try #require(workers.total)
        #expect(scaled.most == total)
        #expect(scaled.least == workers.alwaysThere)
        // No job waits for a worker to start.
        #expect(scaled.least >= min(total, try #require(workers.forOnDemand)))
        let attempts = given[.attempts] ?? 1.01
        let jobs = demand.fillSegmentsPerDay / attempts
        var replicas = scaled.least
        var history: [Int] = []
        for _ in 0..<40 {
            replicas = scaled.next(
                replicas, load(jobs, scaled.policy, workers: replicas, busy: replicas))
            history.append(replicas)
        }
        let fill = jobs > 0 ? try #require(workers.forDeadline) + workers.spare : 0
        #expect(replicas >= min(total, max(fill, scaled.least)), "\(history)")
        #expect(Set(history.suffix(20)).count == 1, "\(history)")
        // Not for what is nearly nothing.
        if fill > scaled.least, jobs > 1_000 {
            var few = replicas
            for _ in 0..<40 {
                few = scaled.next(few, load(1, scaled.policy, workers: few, busy: 1))
            }
            #expect(few == scaled.least)
        }
    }

    /// Busy workers stay, whatever waits.
    @Test func noneIsTakenWhileAllAreBusy() throws {
        let scaled = try Scaled(try Self.plan([.titles: 50_000]))
        let busy = scaled.most - 1
        #expect(scaled.next(busy, load(1, scaled.policy, workers: busy, busy: busy)) == busy)
    }

    /// The Python that has kubernetes-validate, by DRAY_TEST_PYTHON.
    private static let python = ProcessInfo.processInfo.environment["DRAY_TEST_PYTHON"] ?? "python3"

    private static let hasValidator: Bool = {
        guard
            let process = try? Process.run(
                URL(fileURLWithPath: "/usr/bin/env"),
                arguments: [python, "-c", "import jsonschema, kubernetes_validate, yaml"])
        else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    @Test(
        .enabled(
            if: hasValidator,
            "needs python3, or DRAY_TEST_PYTHON, with kubernetes-validate: pip install kubernetes-validate"
        ), arguments: [PlanManifests.keda, .kubernetes], scenarios.prefix(3))
    func objectsFitTheirSchemas(kind: PlanManifests, given: [ScenarioInput: Double]) async throws {
        let directory = try TemporaryDirectory("manifests")
        let path = directory.path("objects.yaml")
        try kind.text(try Self.plan(given), version: "1.2.3")
            .write(toFile: path, atomically: true, encoding: .utf8)
        try await Self.expectObjects(path)
    }

    @Test(
        .enabled(if: hasValidator, "needs kubernetes-validate"),
        arguments: ["deploy/kubernetes/dray.yaml", "deploy/kubernetes/keda.yaml"])
    func templatesFitTheirSchemas(path: String) async throws {
        try await Self.expectObjects(path)
    }

    private static func expectObjects(_ path: String) async throws {
        let process = try ChildProcess([python, "Tests/PlanReportTests/manifests.py", path])
        #expect(try await process.wait() == .exited(0), "\(process.output)\(process.errors)")
    }
}
