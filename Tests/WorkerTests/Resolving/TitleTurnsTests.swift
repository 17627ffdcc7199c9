import Model
import Testing

@testable import Worker

/// Which titles are read, and which give their places back, without a worker.
@Suite final class TitleTurnsTests {
    private typealias Turns = TitleTurns<String>

    private static let start = ContinuousClock.now

    private var turns = Turns()
    private var turnOf: [String: Int] = [:]
    private var jobs: [String: Int64] = [:]

    private func add(_ titles: String...) {
        for title in titles {
            // What is before the dot is the host.
            let job = jobs[title] ?? Int64(jobs.count + 1)
            jobs[title] = job
            turns.add(title, of: .init(job), at: String(title.prefix { $0 != "." }))
        }
    }

    private func add(_ count: Int, at host: String) {
        for number in 1...count { add("\(host).\(number)") }
    }

    /// Starts all that there are places for.
    private func begin(at seconds: Double) -> [String] {
        var begun: [String] = []
        while let (turn, title) = turns.next(now: Self.start + .seconds(seconds)) {
            turnOf[title] = turn
            begun.append(title)
        }
        return begun
    }

    private func end(_ titles: [String]) {
        for title in titles { turns.end(turnOf[title] ?? 0) }
    }

    private func over(at seconds: Double) -> [String] {
        turns.titlesThatAreOver(now: Self.start + .seconds(seconds)).sorted()
    }

    @Test func oneHostHasHalfOfTheSlotsWhileOthersWait() {
        add(8, at: "drip")
        add(2, at: "good")
        let first = begin(at: 0)
        #expect(
            first == [
                "drip.1", "drip.2", "drip.3", "drip.4", "good.1", "good.2", "drip.5", "drip.6",
            ])
    }

    @Test func aHostAloneHasAllSlotsAndReturnsHalfOfThem() {
        add(8, at: "drip")
        #expect(begin(at: 0).count == 8)
        #expect(over(at: 10_000).isEmpty)
        end(["drip.1", "drip.2"])
        add("drip.1", "drip.2")
        #expect(begin(at: 10_000).count == 2)
        end(["drip.3", "drip.4", "drip.5", "drip.6", "drip.7", "drip.8"])
        add("drip.3", "drip.4", "drip.5", "drip.6", "drip.7", "drip.8")
        #expect(begin(at: 10_000).count == 6)
        add(6, at: "good")
        #expect(over(at: 10_009).isEmpty)
        let stopped = over(at: 10_010)
        #expect(stopped.count == 4)
        // Nothing more is stopped for those that have a place by then.
        #expect(over(at: 10_020) == stopped)
        end(stopped)
        #expect(begin(at: 10_021) == ["good.1", "good.2", "good.3", "good.4"])
        #expect(over(at: 10_022).isEmpty)
    }

    @Test(arguments: [false, true])
    func aSlowTitleReturnsItsSlot(isOfOneHost: Bool) {
        let drips = (1...8).map { isOfOneHost ? "same.\($0)" : "drip\($0).1" }
        for drip in drips { add(drip) }
        #expect(begin(at: 0) == drips)
        add("same.9", "same.10")
        #expect(over(at: 119).isEmpty)
        #expect(over(at: 120) == [drips[0], drips[1]])
        end([drips[0], drips[1]])
        #expect(begin(at: 121) == ["same.9", "same.10"])
        #expect(over(at: 10_000).isEmpty)
        end(["same.9", "same.10"])
        // The next time these have twice as long.
        add(drips[0], drips[1])
        #expect(begin(at: 200) == [drips[0], drips[1]])
        end(Array(drips[2...]))
        add("a.1", "b.1", "c.1", "d.1", "e.1", "f.1")
        #expect(begin(at: 400).count == 6)
        add("g.1")
        #expect(over(at: 439).isEmpty)
        #expect(over(at: 440) == [drips[0]])
    }
}
