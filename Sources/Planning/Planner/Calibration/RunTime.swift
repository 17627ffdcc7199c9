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
    /// The time in which the requests of one second are sent.
    var requestWindowSeconds = 1.0
    var bytesPerSecond = Double.infinity

    /// Segments per second of `bytes` bytes each in a long run.
    func segmentsPerSecond(bytes: Double) -> Double {
        min(
            slotsPerSecond, workersPerSecond, requestsPerSecond / requestWindowSeconds,
            bytesPerSecond / max(1, bytes))
    }

    /// What a run waits for.
    enum Bottleneck: CaseIterable { case connections, workers, requests, bandwidth }

    /// Time of a run of `segments`, each of `bytes`.
    func seconds(segments: Double, bytes: Double) -> Double {
        longest(segments: segments, bytes: bytes).seconds
    }

    /// Returns the time of a run and its bottleneck. Slots work in rounds. A rate lets its requests
    /// start at the begin of each window; the last ones still have to be answered.
    func longest(
        segments: Double, bytes: Double
    ) -> (bottleneck: Bottleneck, seconds: Double) {
        let rounds = Self.rounds(segments, slots)
        let nominal = max(1, 1 / requestsPerSecond)
        let window = nominal * requestWindowSeconds
        let inWindow = requestsPerSecond * nominal
        // Windows before that of the last request, and of the last slot.
        let windows = max(0, Self.rounds(segments, inWindow) - 1)
        let inLastRound = segments - (rounds - 1) * slots
        let late = max(0, Self.rounds(inLastRound, inWindow) - 1)
        let inLastWindow = segments - windows * min(inWindow, segments)
        let times: [(bottleneck: Bottleneck, seconds: Double)] = [
            (.connections, rounds * slots / slotsPerSecond + late * window),
            (.workers, segments / workersPerSecond),
            (
                .requests,
                windows > 0
                    ? windows * window + Self.rounds(inLastWindow, slots) * transferSeconds : 0
            ),
            (.bandwidth, segments * bytes / bytesPerSecond),
        ]
        return times.dropFirst().reduce(times[0]) { $1.seconds > $0.seconds ? $1 : $0 }
    }

    private static func rounds(_ segments: Double, _ atATime: Double) -> Double {
        (segments / atATime - 1e-9).rounded(.up)
    }
}
