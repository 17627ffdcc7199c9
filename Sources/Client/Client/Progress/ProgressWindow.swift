/// Estimates the time left of a growing quantity from its recent growth. Pure: the time is passed
/// in.
///
/// An estimate needs progress: two steps at least, the last one recent, over two seconds or more.
/// It is at most `reach` times the observed time, so that the first seconds of a run promise
/// nothing.
struct ProgressWindow {
    private struct Sample {
        var seconds: Double
        var value: Double
    }

    private static let minSeconds = 2.0
    private static let minSteps = 2
    /// Seconds without progress after which there is no estimate, unless steps are far apart.
    private static let stillSeconds = 5.0
    /// Seconds after which steps count only if there are few.
    private static let windowSeconds = 15.0
    private static let fewSteps = 5
    private static let longestSeconds = 300.0
    private static let reach = 60.0

    /// The start, and each later step that counts.
    private var samples: [Sample] = []
    private var firstSeconds = 0.0

    /// Applies a value observed at `seconds` of any steady clock.
    mutating func update(to value: Double, atSeconds seconds: Double) {
        guard let last = samples.last else {
            samples = [Sample(seconds: seconds, value: value)]
            firstSeconds = seconds
            return
        }
        // Bytes of running transfers vanish when these fail: that is no progress, and a temporary
        // loss.
        if value > last.value { samples.append(Sample(seconds: seconds, value: value)) }
        while samples.count > 2, seconds - samples[1].seconds > limitSeconds {
            samples.removeFirst()
        }
    }

    private var limitSeconds: Double {
        samples.count > Self.fewSteps + 1 ? Self.windowSeconds : Self.longestSeconds
    }

    /// Returns the seconds that `rest` takes; nil if unknown.
    func secondsLeft(_ rest: Double, atSeconds seconds: Double) -> Double? {
        guard rest > 0 else { return samples.isEmpty ? nil : 0 }
        guard samples.count > Self.minSteps, let first = samples.first, let last = samples.last,
            seconds - first.seconds >= Self.minSeconds
        else { return nil }
        let stepSeconds = (last.seconds - first.seconds) / Double(samples.count - 1)
        guard seconds - last.seconds <= max(Self.stillSeconds, 3 * stepSeconds) else { return nil }
        // From step to step, and longer if the next one is overdue.
        let elapsed = max(last.seconds - first.seconds, seconds - first.seconds - stepSeconds)
        let left = rest * elapsed / (last.value - first.value)
        return left <= Self.reach * (seconds - firstSeconds) ? left : nil
    }
}
