import API
import Model
import TestSupport
import Testing

@testable import Worker

/// Slow titles that must return their slots: each is named once, at its time.
@Suite(.timeLimit(.minutes(1))) struct TitleQueueTests {
    private let titles = TitleQueue()
    private let clock = SteppedClock()

    private func push(_ number: Int64, at host: String) {
        let source = AssetSource(
            url: "http://\(host)/\(number).m3u8", key: "h/\(number)", kind: .hls)
        let work = LeasedJob(
            job: Job(id: JobID(number), asset: AssetID(number), task: .resolve(source)), lease: "l",
            site: LeasedSite(id: SiteID(1), storageURL: "file:///edge"))
        titles.push(Leased(work, source))
    }

    /// Starts as many as there are slots for.
    private func start() async throws -> [(turn: Int, title: TitleQueue.Title)] {
        var started: [(turn: Int, title: TitleQueue.Title)] = []
        for _ in 0..<TitleTurns<String>.slots {
            started.append(try #require(await titles.next()))
        }
        return started
    }

    @Test func aSlowTitleIsNamedOnceWhenAnotherWaits() async throws {
        for number in 1...8 { push(Int64(number), at: "drip.test") }
        let started = try await start()
        async let first = titles.nextOver(clock: clock)
        push(9, at: "good.test")
        let time = await clock.waitForSleep()
        #expect(!started.contains { titles.isOver($0.title) })
        // One more may start a moment later than the first.
        clock.set(time + .seconds(1))
        let over = await first
        #expect(over.count == 1 && over.allSatisfy(titles.isOver))

        // The slot of the next one is not needed before another title waits.
        async let second = titles.nextOver(clock: clock)
        await clock.waitForSleep { $0 > time + .seconds(1) }
        push(10, at: "good.test")
        let next = await second
        #expect(next.count == 1 && next.isDisjoint(with: over))

        // A title that has ended is not over any more.
        let ended = try #require(started.first { over.contains($0.title) })
        titles.end(ended.turn, ended.title)
        #expect(!titles.isOver(ended.title))
    }

    @Test func aWaitEndsWithItsTask() async {
        let task = Task { [titles, clock] in await titles.nextOver(clock: clock) }
        task.cancel()
        #expect(await task.value.isEmpty)
    }
}
