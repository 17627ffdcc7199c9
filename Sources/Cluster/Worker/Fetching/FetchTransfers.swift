import Model
import Services
import Storage
import Transfer

/// Starts the transfers of fetches, and turns to mirrors after failures.
struct FetchTransfers: Sendable {
    let engine: TransferEngine
    let held: HeldWork
    let draining: ShutdownSignal
    let requests: FetchRequests
    let splitter: Splitter
    let partials: PartialBodies
    let mirrors: Mirrors
    let results: FetchResults
    let reporter: Reporter

    /// Starts the transfers of jobs, each from where an earlier attempt left it.
    ///
    /// - Parameter areStored: what the jobs know is stored under their keys: they fetch nothing of which the origin
    ///   answers that it is unchanged.
    func start(_ work: [(Assignment, PartialBody?)], areStored: Bool = false) {
        for (work, partial) in work {
            // A transfer that starts after its lease was dropped would be cancelled by nobody. The jobs
            // are given back all the same: a heartbeat under way may still save the lease.
            guard held.isWanted(work.leased), let course = mirrors.course(of: work.job) else {
                partials.putBack(partial, of: work)
                reporter.giveBack(work.leased)
                continue
            }
            start(
                work, course, from: partial,
                // At a mirror another's validator is nothing.
                unless: areStored && course.isAtMain ? work.job.knownValidator : nil)
        }
        if draining.isDraining { engine.cancelUnbegun(held.queuedTransfers()) }
    }

    private func start(
        _ work: Assignment, _ course: MirrorCourse, from partial: PartialBody? = nil,
        unless validator: String? = nil
    ) {
        let split = splitter.split(of: work)
        let request = requests.request(
            for: work, split, course, from: partial, unless: validator)
        let transfer = engine.submit(request) { transfer, result in
            var course = course
            self.mirrors.note(result, course)
            // What is split already is another job.
            if split.assembly == nil, self.mirrors.advance(&course, after: result),
                !self.draining.isDraining, self.held.isWanted(work.leased)
            {
                return self.start(work, course, from: result.left)
            }
            self.results.end(work, transfer, result, split, course)
        }
        held.setTransfer(transfer, of: work.job.id, work.lease)
        // While it was being submitted.
        if held.isCancelled(work.leased) { engine.cancel(transfer) }
    }
}
