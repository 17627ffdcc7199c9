import Model
import Testing

@testable import Coordinator

/// Work of which so much is done at a time.
@Suite struct TurnsTests {
    private actor Meter {
        private var now = 0
        private(set) var most = 0
        private(set) var ended = 0

        func begin() {
            now += 1
            most = max(most, now)
        }

        func end() {
            now -= 1
            ended += 1
        }
    }

    @Test func noMoreThanSoManyWorkAtATime() async {
        let turns = Turns(2)
        let meter = Meter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    await turns.take {
                        await meter.begin()
                        await Task.yield()
                        await meter.end()
                    }
                }
            }
        }
        #expect((1...2).contains(await meter.most))
        #expect(await meter.ended == 50)
    }

    @Test func aFailureEndsItsTurn() async throws {
        let turns = Turns(1)
        for _ in 0..<3 {
            await #expect(throws: Failure.self) {
                try await turns.take { throw Failure(.clusterBusy, "no") }
            }
        }
        #expect(await turns.take { 7 } == 7)
    }
}
