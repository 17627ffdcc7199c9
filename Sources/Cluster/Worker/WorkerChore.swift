/// A periodic action of a worker, independent of its jobs, for what no event announces.
struct WorkerChore: Sendable {
    /// Time between the end of one action and the next.
    let period: Duration
    let action: @Sendable () -> Void

    init(every period: Duration, _ action: @escaping @Sendable () -> Void) {
        self.period = period
        self.action = action
    }

    /// Runs until the task is cancelled, first after one period.
    func run(clock: some Clock<Duration> = ContinuousClock()) async {
        while !Task.isCancelled {
            try? await clock.sleep(for: period)
            if !Task.isCancelled { action() }
        }
    }
}
