import Testing

@testable import EventLoop

/// Tasks of no actor on a loop's thread.
@Suite(.timeLimit(.minutes(1))) struct EventLoopTaskExecutorTests {
    private actor Resident {
        private let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(_ loop: EventLoop) { self.loop = loop }

        func isOnLoop() -> Bool { loop.isInLoop }
    }

    @Test func aTaskStaysOnTheThreadAcrossActorsAndSleeps() async throws {
        let loop = try EventLoop(name: "guests")
        let executor = EventLoopTaskExecutor(loop)
        let places = await Task(executorPreference: executor) {
            var places = [loop.isInLoop]
            places.append(await Resident(loop).isOnLoop())
            places.append(loop.isInLoop)
            // What is tested: a timer of the runtime's wakes it.
            try? await Task.sleep(for: .milliseconds(1))
            places.append(loop.isInLoop)
            return places
        }.value
        #expect(places == [true, true, true, true])
        loop.shutdown()
        // A task that comes late is run all the same.
        #expect(await Task(executorPreference: executor) { 1 }.value == 1)
    }
}
