/// The measured speed of one origin, and the concurrency that follows from it.
struct OriginSpeed {
    private(set) var concurrency: AdaptiveConcurrency
    /// Received bytes at the last sample.
    private var sampledBytes: Int64 = 0
    /// Recent mean duration of a transfer, in seconds.
    private var transferSeconds = 0.0

    init(ceiling: Int) { concurrency = AdaptiveConcurrency(ceiling: ceiling) }

    mutating func setCeiling(_ ceiling: Int, now: Double) {
        _ = concurrency.handle(.ceiling(ceiling), now: now)
    }

    /// Records a transfer's end; returns a changed concurrency.
    mutating func ended(
        _ progress: AdaptiveConcurrency.Progress, now: Double
    ) -> AdaptiveConcurrency.Decision? {
        let isFirst = transferSeconds == 0
        transferSeconds += (isFirst ? 1 : 0.1) * (progress.seconds - transferSeconds)
        return concurrency.handle(.ended(progress), now: now)
    }

    mutating func failed(
        _ overload: AdaptiveConcurrency.Overload, startedAt: Double, now: Double
    ) -> AdaptiveConcurrency.Decision? {
        concurrency.handle(.overload(overload, startedAt: startedAt), now: now)
    }

    /// Samples the received bytes; returns a changed concurrency.
    mutating func sample(
        receivedBytes: Int64, seconds: Double, isFull: Bool, now: Double
    ) -> AdaptiveConcurrency.Decision? {
        let sample = AdaptiveConcurrency.Sample(
            bytes: receivedBytes - sampledBytes, seconds: seconds, isFull: isFull,
            transferSeconds: transferSeconds)
        sampledBytes = receivedBytes
        return concurrency.handle(.sample(sample), now: now)
    }
}
