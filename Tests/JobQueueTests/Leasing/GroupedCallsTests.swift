import API
import Model
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Concurrent claims and reports share a statement, and each has its own answer.
@Suite struct GroupedCallsTests {
    typealias F = QueueFixture

    /// Doubles numbers, in groups; the first group waits to be let through.
    private final class Doubler: Sendable {
        let calls = GroupedCalls<Int, Int, Int>(width: 1, maxWeight: 10, besideWeight: 2)
        private let groups = Mutex<[[Int]]>([])
        private let (gate, opener) = AsyncStream.makeStream(of: Void.self)

        var sizes: [Int] { groups.withLock { $0.map(\.count) } }

        func open() { opener.finish() }

        func double(_ call: Int, of key: Int = 0, weight: Int = 1) async throws(Failure) -> Int {
            try await calls.answer(to: call, of: key, weight: weight) {
                (group) async throws(Failure) in
                let isFirst = self.groups.withLock { groups in
                    groups.append(group)
                    return groups.count == 1
                }
                if isFirst { for await _ in self.gate {} }
                guard !group.contains(13) else { throw Failure("cluster.busy", "thirteen") }
                return group.map { $0 * 2 }
            }
        }
    }

    @Test func whatComesMeanwhileGoesTogetherUpToItsWeight() async throws {
        let doubler = Doubler()
        try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            group.addTask { (1, try await doubler.double(1)) }
            try await waitUntil(deadlineSeconds: 60, "the first under way") { doubler.sizes == [1] }
            // Another key does not wait, and is alone.
            #expect(try await doubler.double(100, of: 1) == 200)
            for number in 2...6 {
                group.addTask { (number, try await doubler.double(number, weight: 4)) }
            }
            try await waitUntil(deadlineSeconds: 60, "five in line") {
                doubler.calls.waitingCount == 5
            }
            doubler.open()
            for try await (number, answer) in group { #expect(answer == 2 * number) }
        }
        // Two of weight 4 fit into 10.
        #expect(doubler.sizes == [1, 1, 2, 2, 1])
        #expect(doubler.calls.waitingCount == 0)
    }

    @Test func aFailureReachesItsGroupOnly() async throws {
        let doubler = Doubler()
        let first = Task { try await doubler.double(1) }
        try await waitUntil(deadlineSeconds: 60, "the first under way") { doubler.sizes == [1] }
        let together = [2, 13, 3].map { number in Task { try await doubler.double(number) } }
        try await waitUntil(deadlineSeconds: 60, "three in line") {
            doubler.calls.waitingCount == 3
        }
        doubler.open()
        #expect(try await first.value == 2)
        for task in together {
            await #expect(throws: Failure.self) { try await task.value }
        }
        #expect(try await doubler.double(4) == 8)
    }

    /// Twelve workers ask while the only lane is locked: the first alone, ten as one group, and then
    /// the last.
    @Test func workersThatAskTogetherGetJobsOfTheirOwn() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<80).map { F.file("f\($0)") })
            let workers = (0..<12).map { _ in WorkerID.random() }
            let grants = try await withThrowingTaskGroup(of: LeaseGrant.self) { group in
                try await fixture.pool.withConnection { connection in
                    try await connection.transaction { connection in
                        _ = try await connection.query("SELECT FROM lane FOR UPDATE", [])
                        for worker in workers {
                            group.addTask { try await fixture.lease(6, as: worker) }
                        }
                        try await waitUntil(deadlineSeconds: 60, "one, ten, and one in line") {
                            fixture.queue.jobs.claims.groups.underWayCount == 2
                                && fixture.queue.jobs.claims.groups.waitingCount == 1
                        }
                    }
                }
                return try await group.reduce(into: [LeaseGrant]()) { $0.append($1) }
            }
            let jobs = grants.flatMap(\.jobs)
            #expect(grants.allSatisfy { $0.jobs.count == 6 && $0.site != nil })
            #expect(Set(jobs.map(\.id)).count == 72 && Set(jobs.map(\.key)).count == 72)
            #expect(Set(grants.map(\.lease)).count == 12)
            #expect(try await fixture.lease().jobs.count == 8)
        }
    }

    private static func report(
        _ results: [JobReport], _ worker: WorkerID, _ queue: JobQueue
    ) async throws -> [ReportAnswer.Verdict] {
        try await queue.jobs.reports.record(ReportRequest(worker: worker, results: results))
    }

    /// Reports of several workers in one statement: each has its own answer, and what no worker
    /// holds changes nothing.
    @Test func reportsThatArriveTogetherAreFencedOneByOne() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<12).map { F.file("f\($0)") })
            let workers = (0..<4).map { _ in WorkerID.random() }
            var grants: [LeaseGrant] = []
            for worker in workers { grants.append(try await fixture.lease(3, as: worker)) }
            let queue = fixture.queue
            let zeroth = grants[0]
            let (first, second, third) = (grants[1], grants[2], grants[3])
            let mixed = [
                F.done(first.jobs[1], first), F.done(second.jobs[1], second),
                F.done(first.jobs[1], first, bytes: 99),
                F.failed(first.jobs[2], first, "origin.http.404"),
            ]
            let verdicts = try await withThrowingTaskGroup(
                of: (Int, [ReportAnswer.Verdict]).self
            ) { group in
                try await fixture.pool.withConnection { connection in
                    try await connection.transaction { connection in
                        _ = try await connection.query("SELECT FROM asset FOR UPDATE", [])
                        // This one goes at once; the others gather behind it.
                        group.addTask {
                            let result = F.done(zeroth.jobs[0], zeroth)
                            return (0, try await Self.report([result], workers[0], queue))
                        }
                        try await waitUntil(deadlineSeconds: 60, "one under way") {
                            queue.jobs.reports.groups.underWayCount == 1
                        }
                        group.addTask { (1, try await Self.report(mixed, workers[1], queue)) }
                        // The same result twice at once.
                        for number in 2...3 {
                            group.addTask {
                                let result = F.done(third.jobs[1], third)
                                return (number, try await Self.report([result], workers[3], queue))
                            }
                        }
                        try await waitUntil(deadlineSeconds: 60, "three in line") {
                            queue.jobs.reports.groups.waitingCount == 3
                        }
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            #expect(verdicts[0] == [.accepted])
            #expect(verdicts[1] == [.accepted, .stale, .stale, .accepted])
            // The repeated result has one effect.
            #expect(verdicts[2] == [.accepted] || verdicts[3] == [.accepted])
            try await fixture.fold()
            let done = try await fixture.pool.query(
                "SELECT count(*), sum(bytes)::bigint FROM result WHERE done"
            ).only()
            #expect(try done.int64(0) == 3 && done.int64(1) == 30)
        }
    }
}
