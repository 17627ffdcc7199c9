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

    @Test func anotherSignalAndWhatAPersonTypesCount() {
        #expect(new((SIGTERM, 100), (SIGHUP, 100.001)) == [true, true])
        #expect(new((SIGTERM, 100), (SIGINT, 100.2), (SIGINT, 100.4)) == [true, true, true])
    }
}
