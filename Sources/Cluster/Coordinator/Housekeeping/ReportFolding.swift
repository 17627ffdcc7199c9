import JobQueue
import Services

/// Folds reports into the counts of catalogs: soon after a report, so that a catalog ends with its
/// last segment, but not for every report when there are many.
struct ReportFolding: Service {
    let name = "folding"
    let queue: JobQueue
    /// Fired when a report has left tallies to fold.
    let reported: WorkSignal
    /// Its waiters are workers without jobs.
    let signal: WorkSignal
    let metrics: CoordinatorMetrics
    let times: ChoreTimes
    let failures: BackgroundFailures

    /// Runs until its task is cancelled.
    func run() async {
        let clock = ContinuousClock()
        while !Task.isCancelled {
            let version = reported.version
            var isPending = false
            let start = clock.now
            do {
                isPending = try await queue.housekeeping.tallies.fold { metrics.count($0) }
                failures.succeeded("fold reports", since: start)
                if !isPending { times.succeeded(ChoreTimes.folding) }
            } catch {
                times.failed(ChoreTimes.folding)
                failures.failed("fold reports", error)
            }
            await rest(afterFoldOf: clock.now - start)
            if !isPending { await reported.wait(after: version, atMost: .seconds(1)) }
        }
    }

    /// Sleeps after a fold. Folds use a twentieth of the time at most while all workers have jobs,
    /// and a third if one waits: the end of an asset may create jobs.
    private func rest(afterFoldOf duration: Duration) async {
        let least = min(max(.milliseconds(5), duration * 2), .milliseconds(50))
        let most = min(max(.milliseconds(5), duration * 20), .milliseconds(200))
        try? await Task.sleep(for: least)
        if most > least { await signal.waitForWaiter(atMost: most - least) }
    }
}
