import API
import Foundation
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Data of load tests: stored in parts, divided among shards, deleted at the end.
@Suite struct LoadDataTests {
    private static func test(workers: Int, parts: Int) -> LoadTestSubmission {
        var test = LoadTestTests.test(workers: workers)
        test.parts = parts
        test.urls = ["http://h/a\nhttp://h/b", "http://h/c"]
        return test
    }

    private static func data(_ numbers: some Sequence<Int>) -> LoadTestData {
        LoadTestData(parts: numbers.map { .init(number: $0, data: "token=\($0)") })
    }

    /// The numbers of a worker's parts, fetched page by page.
    private static func parts(
        _ queue: JobQueue, _ id: LoadTestID, _ worker: WorkerID
    ) async throws -> [Int] {
        var numbers: [Int] = []
        while true {
            let page = try await queue.loadTests.shards.parts(
                LoadTestPartsRequest(worker: worker, from: (numbers.last ?? -1) + 1), of: id)
            guard !page.parts.isEmpty else { return numbers }
            #expect(page.parts.allSatisfy { $0.data.hasPrefix("token=\($0.number)") })
            numbers += page.parts.map(\.number)
        }
    }

    /// A queue that waits an hour for a start, a worker or a client, however long a test takes.
    private static func patient(_ fixture: QueueFixture) -> JobQueue {
        var settings = fixture.queue.settings
        settings.loadTests.leadSeconds = 3_600
        settings.loadTests.silentSeconds = 3_600
        settings.loadTests.followedSeconds = 3_600
        return JobQueue(pool: fixture.pool, settings: settings)
    }

    /// A test whose workers are ready.
    private static func ready(
        _ queue: JobQueue, _ test: LoadTestSubmission, workers: Int
    ) async throws -> [WorkerID] {
        _ = try await queue.loadTests.create(test)
        let all = (0..<workers).map { _ in WorkerID.random() }
        for worker in all {
            let place = try await queue.loadTests.shards.join(
                test.id, LoadTestJoin(worker: worker, name: "w"))
            #expect(place.parts == test.parts && place.urlBlocks == test.urls?.count)
            _ = try await queue.loadTests.shards.report(
                LoadTestTests.report(worker, .ready), of: test.id)
        }
        return all
    }

    @Test func itStartsWithAllPartsAndEachIsOfOneShard() async throws {
        try await QueueFixture.with { fixture in
            let queue = Self.patient(fixture)
            let test = Self.test(workers: 3, parts: 8)
            let workers = try await Self.ready(queue, test, workers: 3)
            func state() async throws -> LoadTestState {
                try await queue.loadTests.status(of: test.id).state
            }
            #expect(try await state() == .waiting)
            try await queue.loadTests.add(Self.data(0..<5), to: test.id)
            try await queue.loadTests.add(Self.data(3..<6), to: test.id)
            // Each gets all URLs as soon as it has joined.
            for worker in workers {
                var blocks: [LoadTestData.Part] = []
                for from in 0...2 {
                    blocks += try await queue.loadTests.shards.parts(
                        LoadTestPartsRequest(worker: worker, from: from, urls: true), of: test.id
                    ).parts
                }
                #expect(blocks.map(\.number) == [0, 1] && blocks.map(\.data) == test.urls)
            }
            // Also when the wait is over.
            try await fixture.pool.query("UPDATE load_test SET join_until = now() - interval '1 s'")
            _ = try await queue.loadTests.supervision.reconcile()
            #expect(try await state() == .waiting)
            await #expect {
                try await Self.parts(queue, test.id, workers[0])
            } throws: { ($0 as? Failure)?.code == .inputNotFound }
            #expect(
                try await queue.loadTests.add(Self.data(6..<8), to: test.id).state == .waiting)
            #expect(try await state() == .running)
            for (worker, own) in zip(workers, [[0, 3, 6], [1, 4, 7], [2, 5]]) {
                #expect(try await Self.parts(queue, test.id, worker) == own)
            }
            await #expect {
                try await Self.parts(queue, test.id, .random())
            } throws: { ($0 as? Failure)?.code == .inputNotFound }
            await #expect {
                try await queue.loadTests.shards.parts(
                    LoadTestPartsRequest(worker: .random(), from: 0, urls: true), of: test.id)
            } throws: { ($0 as? Failure)?.code == .inputNotFound }
            // Neither a late part nor the end of one shard changes anything.
            #expect(
                try await queue.loadTests.add(Self.data(0..<1), to: test.id).state == .running)
            _ = try await queue.loadTests.shards.report(
                LoadTestTests.report(workers[0], .finished), of: test.id)
            #expect(try await fixture.count("load_part") == 8)
            for worker in workers[1...] {
                _ = try await queue.loadTests.shards.report(
                    LoadTestTests.report(worker, .finished), of: test.id)
            }
            #expect(try await state() == .ended)
            #expect(try await fixture.count("load_part") == 0)
            #expect(try await fixture.count("load_url_block") == 0)
            #expect(try await queue.loadTests.add(Self.data(0..<8), to: test.id).state == .ended)
            #expect(try await fixture.count("load_part") == 0)
        }
    }

    /// It would send another load.
    @Test func aWorkerThatTakesNoDataIsNotWantedForATestWithData() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let test = Self.test(workers: 1, parts: 1)
            _ = try await queue.loadTests.create(test)
            let old = LoadTestJoin(worker: .random(), name: "w", takesData: nil)
            #expect(try await queue.loadTests.shards.join(test.id, old).scenario == nil)
            #expect(try await fixture.count("load_shard") == 0)
            _ = try await queue.loadTests.stop(test.id)
            let plain = LoadTestTests.test(workers: 1)
            _ = try await queue.loadTests.create(plain)
            #expect(try await queue.loadTests.shards.join(plain.id, old).scenario != nil)
        }
    }

    @Test func fewerPartsThanShardsAreShared() async throws {
        try await QueueFixture.with { fixture in
            let queue = Self.patient(fixture)
            let test = Self.test(workers: 5, parts: 2)
            let workers = try await Self.ready(queue, test, workers: 5)
            try await queue.loadTests.add(Self.data(0..<2), to: test.id)
            for (worker, own) in zip(workers, [0, 1, 0, 1, 0]) {
                #expect(try await Self.parts(queue, test.id, worker) == [own])
            }
        }
    }

    /// Each client's end deletes it too.
    @Test func aTestThatNobodyFollowsKeepsNoData() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let test = Self.test(workers: 2, parts: 3)
            _ = try await Self.ready(queue, test, workers: 2)
            let stale = "UPDATE load_test SET followed_at = now() - interval '21 s'"
            try await fixture.pool.query(stale)
            // Who sends data follows it.
            try await queue.loadTests.add(Self.data(0..<2), to: test.id)
            _ = try await queue.loadTests.supervision.reconcile()
            #expect(try await queue.loadTests.status(of: test.id).state == .waiting)
            try await fixture.pool.query(stale)
            _ = try await queue.loadTests.supervision.reconcile()
            let status = try await queue.loadTests.status(of: test.id)
            #expect(status.state == .ended && status.failure?.code == .clusterAbandoned)
            #expect(try await fixture.count("load_part") == 0)
        }
    }

    @Test func theStartWaitsForLongDataToBeFetchedPageByPage() async throws {
        try await QueueFixture.with { fixture in
            let queue = Self.patient(fixture)
            let test = Self.test(workers: 1, parts: 5)
            let worker = try await Self.ready(queue, test, workers: 1)[0]
            for number in 0..<5 {
                let text = "token=\(number)" + String(repeating: "x", count: 3 << 20)
                try await queue.loadTests.add(
                    LoadTestData(parts: [.init(number: number, data: text)]), to: test.id)
            }
            // Fifteen MiB at eight per second, and the usual time before the start.
            let order = try await queue.loadTests.shards.order(of: test.id, worker: worker)
            let seconds = try #require(order.startsInSeconds)
            #expect(seconds <= 3_601.9)
            #expect(
                try await fixture.count(
                    "load_test WHERE start_at - followed_at > interval '3601.8 s'") == 1)
            let page = try await queue.loadTests.shards.parts(
                LoadTestPartsRequest(worker: worker, from: 0), of: test.id)
            #expect(page.parts.map(\.number) == [0])
            #expect(try await Self.parts(queue, test.id, worker) == Array(0..<5))
        }
    }

    @Test func impossibleDataIsRefused() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let test = Self.test(workers: 1, parts: 40)
            _ = try await queue.loadTests.create(test)
            await #expect {
                try await queue.loadTests.add(Self.data(39...40), to: test.id)
            } throws: {
                let failure = $0 as? Failure
                return failure?.code == .inputField && failure?.message.contains("40") == true
            }
            await #expect {
                try await queue.loadTests.add(Self.data(0..<1), to: .random())
            } throws: { ($0 as? Failure)?.code == .inputNotFound }
            #expect(try await fixture.count("load_part") == 0)
            let text = String(repeating: "x", count: WireLimits.loadPartBytes)
            let most = WireLimits.loadDataBytes / WireLimits.loadPartBytes
            for number in 0..<most {
                try await queue.loadTests.add(
                    LoadTestData(parts: [.init(number: number, data: text)]), to: test.id)
            }
            await #expect {
                try await queue.loadTests.add(Self.data([most]), to: test.id)
            } throws: {
                let failure = $0 as? Failure
                return failure?.code == .inputTooLarge
                    && failure?.message.contains("\(WireLimits.loadDataBytes)") == true
            }
            #expect(try await fixture.count("load_part") == Int64(most))
        }
    }
}
