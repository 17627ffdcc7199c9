import API
import Model
import Services
import Storage
import Transfer

/// Starts the transfers of fetches, and tries mirrors after failures.
struct FetchTransfers: Sendable {
    let engine: TransferEngine
    let held: HeldWork
    let draining: ShutdownSignal
    let splitter: Splitter
    let partials: PartialBodies
    let mirrors: Mirrors
    let results: FetchResults
    let reporter: Reporter
    /// Bytes per second above which one connection fetches a large file without splitting it.
    let splitBelowBytesPerSecond: Double

    /// Starts the transfer of a job; it resumes an earlier attempt's partial body.
    ///
    /// - Parameter isStored: true if the job's previous file is stored under its key. The transfer
    ///   then fetches nothing if the origin reports it as unchanged.
    func start(_ work: Assignment, from partial: PartialBody? = nil, isStored: Bool = false) {
        // Nothing would cancel a transfer that starts after its lease was dropped. The job is
        // returned all the same: a running heartbeat may still save the lease.
        guard held.isWanted(work.leased), let plan = mirrors.plan(of: work.fetch) else {
            partials.putBack(partial, of: work)
            return reporter.giveBack(work.leased)
        }
        start(
            work, plan, from: partial,
            // The main origin's validator is invalid at a mirror.
            unless: isStored && plan.isAtMain ? work.fetch.previous?.validator : nil)
    }

    private func start(
        _ work: Assignment, _ plan: MirrorPlan, from partial: PartialBody? = nil,
        unless validator: String? = nil
    ) {
        let split = splitter.split(of: work)
        let request = request(for: work, split, plan, from: partial, unless: validator)
        let transfer = engine.submit(request) { transfer, result in
            var plan = plan
            self.results.tally.runs.used(work.job.run, seconds: result.totalSeconds)
            self.mirrors.note(result, plan)
            // Once split, the job is a different one.
            if split.multipart == nil, self.mirrors.advance(&plan, after: result),
                !self.draining.isDraining, self.held.isWanted(work.leased)
            {
                return self.start(work, plan, from: result.left)
            }
            self.results.end(work, transfer, result, split, plan)
        }
        held.setTransfer(transfer, of: work.job.id, work.lease)
        // Those who cancel jobs or drain the worker did not see the transfer during the submission.
        if held.isCancelled(work.leased) { engine.cancel(transfer) }
        if draining.isDraining { engine.cancelUnbegun([transfer]) }
    }
}
