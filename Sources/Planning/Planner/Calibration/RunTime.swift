/// The time of a run by its bottleneck.
struct RunTime {
    /// Transfers at a time, of all workers.
    var slots: Double
    /// Time of one transfer.
    var transferSeconds: Double
    /// Segments per second if only the slots limit them.
    var slotsPerSecond: Double
    /// Segments per second that the workers do not exceed otherwise: CPU, network.
    var workersPerSecond = Double.infinity
    /// Limits of the origin.
    var requestsPerSecond = Double.infinity
    var bytesPerSecond = Double.infinity

    /// Segments per second of `bytes` bytes each in a long run.
    func segmentsPerSecond(bytes: Double) -> Double {
        min(slotsPerSecond, workersPerSecond, requestsPerSecond, bytesPerSecond / max(1, bytes))
    }

    /// Time of a run of `segments`, each of `bytes`. Slots work in rounds. A rate lets its requests
    /// start at the begin of each second; the last ones still have to be answered.
    func seconds(segments: Double, bytes: Double) -> Double {
        let rounds = Self.rounds(segments, slots)
        let window = max(1, 1 / requestsPerSecond)
        // Windows before that of the last request, and of the last slot.
        let windows = max(0, Self.rounds(segments, requestsPerSecond * window) - 1)
        let inLastRound = segments - (rounds - 1) * slots
        let late = max(0, Self.rounds(inLastRound, requestsPerSecond * window) - 1)
        let inLastWindow = segments - windows * min(requestsPerSecond * window, segments)
        return max(
            rounds * slots / slotsPerSecond + late * window, segments / workersPerSecond,
            windows > 0
                ? windows * window + Self.rounds(inLastWindow, slots) * transferSeconds : 0,
            segments * bytes / bytesPerSecond)
    }

    private static func rounds(_ segments: Double, _ atATime: Double) -> Double {
        (segments / atATime - 1e-9).rounded(.up)
    }
}
