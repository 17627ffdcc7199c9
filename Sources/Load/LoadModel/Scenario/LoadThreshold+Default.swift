extension LoadThreshold {
    /// Maximum ratio of failed requests where a scenario sets no threshold on them.
    private static let maxErrorRate = 0.01

    /// The bound on errors that holds where a scenario sets none.
    package static let defaultErrorRate = {
        var threshold = LoadThreshold(
            text: "error_rate <= 1%", figure: .errorRate, comparison: .atMost,
            value: maxErrorRate)
        threshold.isDefault = true
        return threshold
    }()
}

extension LoadScenario {
    /// The thresholds that must hold: those of the scenario, and the default bound on errors unless
    /// it has a threshold on them or every target may fail.
    ///
    /// Without that bound, a server that rejects most requests at once would pass every threshold
    /// on latencies.
    package var judgedThresholds: [LoadThreshold] {
        let hasOwn = thresholds.contains { $0.figure == .errorRate && $0.group == nil }
        return hasOwn || targets.allSatisfy(\.mayFail) && !targets.isEmpty
            ? thresholds : thresholds + [.defaultErrorRate]
    }
}
