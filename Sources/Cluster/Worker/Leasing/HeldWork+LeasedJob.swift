import API
import Model

/// The same for a leased job, which names its lease.
extension HeldWork {
    func isCancelled(_ work: LeasedJob) -> Bool { isCancelled(work.job.id, work.lease) }

    /// Returns true if the job's lease has time left and the job was not cancelled.
    func isWanted(_ work: LeasedJob) -> Bool { isHeld(work.lease) && !isCancelled(work) }

    func downloaded(_ work: LeasedJob) { downloaded(work.job.id, work.lease) }

    func received(_ work: LeasedJob) { received(work.job.id, work.lease) }

    func setBegun(_ bytes: Int64?, of work: LeasedJob) {
        setBegun(bytes, of: work.job.id, work.lease)
    }

    func setExpected(_ bytes: Int64?, of work: LeasedJob) {
        setExpected(bytes, of: work.job.id, work.lease)
    }

    func expectedBytes(of work: LeasedJob) -> Int64? { expectedBytes(of: work.job.id, work.lease) }
}
