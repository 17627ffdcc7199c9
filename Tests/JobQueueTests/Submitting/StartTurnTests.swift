import API
import Model
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Starts of catalogs at one site that want the same keys, and so wait for each other.
@Suite struct StartTurnTests {
    typealias F = QueueFixture

    /// Runs `body` while another start holds the keys of a catalog.
    private static func holdingKeys(
        of handle: CatalogHandle, _ fixture: F, _ body: () async throws -> Void
    ) async throws {
        let pool = PostgresPool(
            .queue(url: fixture.url, sessionSettings: JobQueue.sessionSettings),
            maximumConnections: 1, on: fixture.loop)
        do {
            try await pool.transaction { connection in
                _ = try await connection.query(
                    SQL.KeyConflicts.lock, ["catalog": .int(handle.id.rawValue)])
                try await body()
            }
        } catch {
            await pool.shutdown()
            throw error
        }
        await pool.shutdown()
    }

    /// Opens a catalog with a file of its own in a directory that all have.
    private static func open(_ name: String, _ fixture: F) async throws -> CatalogHandle {
        let submissions = fixture.queue.catalogs.submissions
        let handle = try await submissions.open(
            CatalogSubmission(name: name, storageURL: F.site))
        try await submissions.add([F.file(name)], to: handle.id, generation: handle.generation)
        return handle
    }

    private static func state(
        _ handle: CatalogHandle, _ fixture: F
    ) async throws -> CatalogState {
        try await fixture.queue.catalogs.status(of: handle.id).state
    }

    /// More starts than the pool has connections wait, and other requests are answered.
    @Test func waitingStartsLeaveTheConnectionsToOthers() async throws {
        try await F.with { fixture in
            var handles: [CatalogHandle] = []
            for number in 0..<10 { handles.append(try await Self.open("c\(number)", fixture)) }
            let (all, queue) = (handles, fixture.queue)
            var starts: Task<Void, any Error>?
            try await Self.holdingKeys(of: all[0], fixture) {
                starts = Task {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for handle in all {
                            group.addTask {
                                try await queue.catalogs.submissions.start(
                                    handle.id, generation: handle.generation)
                            }
                        }
                        try await group.waitForAll()
                    }
                }
                try await waitUntil(deadlineSeconds: 30, "starts that wait") {
                    // The watcher has a connection of its own.
                    try await PostgresServer.shared().execute(
                        "SELECT 'waits' FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
                        database: PostgresServer.database(of: fixture.url)
                    ).contains("waits")
                }
                for handle in all {
                    let state = try await Self.state(handle, fixture)
                    #expect(state != .running)
                }
            }
            try await starts?.value
            for handle in all {
                let state = try await Self.state(handle, fixture)
                #expect(state == .running)
            }
        }
    }

    /// Ctrl-C in the submitter while its start waits: the interruption does not wait with it, and
    /// the start has no effect afterwards.
    @Test func aStartWhoseSubmitterHasLeftEnds() async throws {
        try await F.with { fixture in
            let handle = try await Self.open("movies", fixture)
            let submissions = fixture.queue.catalogs.submissions
            try await Self.holdingKeys(of: handle, fixture) {
                let isWanted = Flag()
                let start = Task {
                    try await submissions.start(handle.id, generation: handle.generation) {
                        isWanted.value
                    }
                }
                isWanted.clear()
                let failure = await #expect(throws: Failure.self) { try await start.value }
                #expect(failure?.code == .clusterBusy)
                try await submissions.interrupt(handle.id)
            }
            #expect(try await Self.state(handle, fixture) != .running)
            #expect(try await fixture.lease().jobs.isEmpty)
            try await submissions.start(handle.id, generation: handle.generation)
            #expect(try await Self.state(handle, fixture) == .running)
        }
    }

    private final class Flag: Sendable {
        private let state = Mutex(true)
        var value: Bool { state.withLock(\.self) }
        func clear() { state.withLock { $0 = false } }
    }

    private final class Order: Sendable {
        private let state = Mutex<[Int]>([])
        var numbers: [Int] { state.withLock(\.self) }
        func append(_ number: Int) { state.withLock { $0.append(number) } }
    }

    @Test func turnsOfASiteAreInTheOrderOfTheirArrival() async throws {
        let turns = StartTurns(period: .milliseconds(1))
        let order = Order()
        let joined = (0..<5).map { _ in turns.join(SiteID(1)) }
        let other = turns.join(SiteID(2))
        let end = ContinuousClock.now + .seconds(60)
        try await turns.wait(for: other, until: end) { true }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, turn) in joined.enumerated().reversed() {
                group.addTask {
                    try await turns.wait(for: turn, until: end) { true }
                    order.append(number)
                    turns.end(turn)
                }
            }
            try await group.waitForAll()
        }
        #expect(order.numbers == [0, 1, 2, 3, 4])
        // One that leaves its line early holds up nobody.
        let (first, second) = (turns.join(SiteID(1)), turns.join(SiteID(1)))
        let left = await #expect(throws: Failure.self) {
            try await turns.wait(for: second, until: end) { false }
        }
        #expect(left?.code == .clusterBusy)
        let late = await #expect(throws: Failure.self) {
            try await turns.wait(for: second, until: .now) { true }
        }
        #expect(late?.code == .clusterBusy)
        let third = turns.join(SiteID(1))
        for turn in [second, first] { turns.end(turn) }
        try await turns.wait(for: third, until: end) { true }
    }
}
