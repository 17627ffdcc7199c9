import API
import Model

/// The use of the traces of submissions by a worker.
package enum TraceUse: String, CaseIterable, Sendable {
    /// None: leases come without traces.
    case off
    /// The line of an attempt that failed has the trace.
    case log
    /// Requests to the origin of a job's own URL have it as well, in the header `traceparent`.
    case origins
}

extension LeaseGrant {
    /// Returns the jobs; each is a step of its submission's trace.
    func leasedJobs(
        _ lease: LeaseID, at site: LeasedSite, traces use: TraceUse
    ) -> [LeasedJob] {
        var known: [JobID: TraceContext] = [:]
        for trace in traces ?? [] where use != .off {
            guard let context = TraceContext(trace.traceparent) else { continue }
            for job in trace.jobs { known[job] = context }
        }
        return jobs.map { job in
            var leased = LeasedJob(job: job, lease: lease, site: site)
            leased.trace = known[job.id]?.child
            if use == .origins, let trace = leased.trace {
                leased.originHeaders = ["traceparent: \(trace.header)"]
            }
            return leased
        }
    }
}
