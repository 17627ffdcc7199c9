import CoordinatorClient
import FoundationEssentials
import Model
import Storage
import Synchronization
import Transfer

/// Whether and how one fetch was split: decided on a loop's thread when the header is in, settled
/// with the coordinator while the bytes come.
final class Split: Sendable {
    /// What came of asking the coordinator.
    enum Answer: Sendable {
        /// It was not asked: the object is whole.
        case none
        case accepted
        /// It could not say, or the lease is not held any more.
        case open
        /// It does not split this object, now or later.
        case refused(Failure)
    }

    private struct State {
        var assembly: String?
        var firstPart: PendingObject?
        var request: Task<Answer, Never>?
    }

    private let worker: WorkerID
    private let work: LeasedJob
    let partBytes: Int64
    private let state = Mutex(State())

    init(worker: WorkerID, _ work: LeasedJob, partBytes: Int64) {
        self.worker = worker
        self.work = work
        self.partBytes = partBytes
    }

    /// The assembly that the first part is written to; nil while the object is whole.
    var assembly: String? { state.withLock { $0.assembly } }

    /// Where the first part goes, once.
    func takeFirstPart() -> PendingObject? { state.withLock { $0.firstPart.take() } }

    /// A name for the assembly.
    func name() -> String { UUID().uuidString.lowercased() }

    /// Tells the coordinator, so that others can begin with the other parts.
    func begin(
        _ large: LargeObject, _ assembly: String, _ firstPart: PendingObject?,
        _ send: @escaping @Sendable (SplitRequest) async throws(Failure) -> SplitAnswer
    ) {
        var request = SplitRequest(
            worker: worker, job: work.job.id, lease: work.lease, assembly: assembly,
            totalBytes: large.totalBytes, partBytes: partBytes, validator: large.validator)
        request.digests = FurtherDigests.text(of: large.stated)
        let split = request
        state.withLock { state in
            state.assembly = assembly
            state.firstPart = firstPart
            state.request = Task { await Self.ask(split, send) }
        }
    }

    private static func ask(
        _ request: SplitRequest,
        _ send: @Sendable (SplitRequest) async throws(Failure) -> SplitAnswer
    ) async -> Answer {
        do throws(Failure) {
            return try await send(request).verdict == .accepted ? .accepted : .open
        } catch {
            // Given back, the job would be split in vain for ever.
            let isOpen =
                error.code.isOfUnavailableCluster || error.code == "worker.cancelled"
            return isOpen ? .open : .refused(error)
        }
    }

    /// Waits for the coordinator's answer.
    func answer() async -> Answer {
        guard let request = state.withLock({ $0.request }) else { return .none }
        return await request.value
    }
}
