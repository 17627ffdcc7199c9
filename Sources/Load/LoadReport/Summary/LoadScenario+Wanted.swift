import LoadModel

extension LoadScenario {
    /// True if arrivals follow a schedule.
    var isOpen: Bool {
        if case .open = model { return true }
        return false
    }

    var hasViewers: Bool {
        if case .viewers = user { return true }
        return false
    }

    /// Returns the current stage, from 0, and its planned load: arrivals per second, or users. Nil
    /// if no stage has a duration.
    func wanted(atSeconds seconds: Double) -> (stage: Int, level: Double)? {
        var start = 0.0
        for (index, stage) in stages.enumerated() where stage.seconds > 0 {
            let end = start + stage.seconds
            guard seconds < end || end >= durationSeconds else {
                start = end
                continue
            }
            let share = min(max((seconds - start) / stage.seconds, 0), 1)
            return (index, stage.from + (stage.to - stage.from) * share)
        }
        return nil
    }
}
