extension [LoadStage] {
    /// Returns the stages with another load from a time on to their end.
    ///
    /// - Parameters:
    ///   - seconds: time since the start, 0 or more, before the end of the last stage.
    ///   - level: arrivals per second, or users.
    package func changed(atSeconds seconds: Double, to level: Double) -> [LoadStage] {
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
