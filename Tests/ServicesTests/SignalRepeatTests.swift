import Glibc
import Testing

@testable import Services

/// Signals that arrive twice.
@Suite struct SignalRepeatTests {
    /// Returns which of the signals count.
    private func new(_ signals: (number: Int32, seconds: Double)...) -> [Bool] {
        var repeats = SignalRepeats()
        return signals.map { repeats.isNew($0.number, nowSeconds: $0.seconds) }
    }

    /// `timeout` signals the process and its group.
    @Test func equalSignalsAtOnceAreOne() {
        // Repetitions do not lengthen the time.
        #expect(
            new((SIGTERM, 100), (SIGTERM, 100.002), (SIGTERM, 100.9), (SIGTERM, 101))
                == [true, false, false, true])
    }

    /// `timeout -s INT` sends two; a person who presses Ctrl-C again needs longer.
    @Test func anInterruptCountsAgainAfterHalfASecond() {
        #expect(
            new((SIGINT, 100), (SIGINT, 100.002), (SIGINT, 100.4), (SIGINT, 100.5))
                == [true, false, false, true])
    }

    @Test func anotherSignalCounts() {
        #expect(
            new((SIGTERM, 100), (SIGHUP, 100.001), (SIGINT, 100.002)) == [true, true, true])
    }
}
