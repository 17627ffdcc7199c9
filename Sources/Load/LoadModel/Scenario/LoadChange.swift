package import Model

/// A change of the load of a running test, which replaces the rest of its stages.
package struct LoadChange: Hashable, Sendable {
    /// Seconds since the start of the test from which it holds, 0 or more.
    package var seconds: Double
    /// Arrivals per second, or users, of the whole test, from then to its planned end.
    package var level: Double

    package init(seconds: Double, level: Double) {
        self.seconds = seconds
        self.level = level
    }
}

extension [LoadStage] {
    /// Returns the stages with another load from a time on to their end.
    ///
    /// - Parameter change: of a time before the end of the last stage.
    package func changed(by change: LoadChange) -> [LoadStage] {
        let (seconds, level) = (change.seconds, change.level)
        var changed: [LoadStage] = []
        var start = 0.0
        for stage in self {
            let end = start + stage.seconds
            if end <= seconds {
                changed.append(stage)
            } else if start < seconds {
                let share = (seconds - start) / stage.seconds
                changed.append(
                    LoadStage(
                        seconds: seconds - start, from: stage.from,
                        to: stage.from + (stage.to - stage.from) * share))
            }
            start = end
        }
        changed.append(LoadStage(seconds: Swift.max(start - seconds, 0), from: level, to: level))
        return changed
    }
}

extension LoadScenario {
    /// The loads that the test can be given while it runs; nil for a replay, which keeps the times
    /// of its log.
    package var range: LoadRange? {
        guard replay == nil else { return nil }
        guard model == .closed else {
            return LoadRange(
                unit: .arrivalsPerSecond, most: LoadLimits.rate.upperBound,
                seconds: durationSeconds)
        }
        // Beyond the slots, users would wait for one another.
        let most = user == .requests ? concurrency : Int(LoadLimits.users.upperBound)
        return LoadRange(unit: .users, most: Double(most), seconds: durationSeconds)
    }
}
