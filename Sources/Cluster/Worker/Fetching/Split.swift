import API
import CoordinatorClient
import Model
import Storage
import Synchronization
import Transfer

/// The split of one fetch. A loop's thread decides on it when the header arrives; the coordinator
/// confirms it during the transfer.
final class Split: Sendable {
    /// The result of the request to the coordinator.
    enum Answer: Sendable {
        /// No request: the object is not split.
        case none
        case accepted
        /// Undecided: the coordinator was unavailable, or the lease is lost.
        case open
        /// The coordinator never splits this object.
        case refused(Failure)
    }

    private struct State {
        var multipart: MultipartID?
        var firstPart: PendingObject?
        var request: Task<Answer, Never>?
    }

    private let worker: WorkerID
    private let work: LeasedJob
    let partBytes: Int64
    /// Length of the largest file that is split.
    let maximumBytes: Int64
    private let state = Mutex(State())

    init(
        worker: WorkerID, _ work: LeasedJob, partBytes: Int64, maximumBytes: Int64 = .max
    ) {
        self.maximumBytes = maximumBytes
        self.worker = worker
        self.work = work
        self.partBytes = partBytes
    }

    /// The multipart file that receives the first part; nil while the object is whole.
    var multipart: MultipartID? { state.withLock { $0.multipart } }

    /// Returns the object for the first part, once.
    func takeFirstPart() -> PendingObject? { state.withLock { $0.firstPart.take() } }

    /// Reports the split to the coordinator, so that other workers can start the other parts.
    func begin(
        _ large: LargeObject, _ multipart: MultipartID, _ firstPart: PendingObject?,
        _ send: @escaping @Sendable (SplitRequest) async throws(Failure) -> VerdictAnswer
    ) {
        var request = SplitRequest(
            worker: worker, job: work.job.id, lease: work.lease, multipart: multipart,
            totalBytes: large.totalBytes, partBytes: partBytes, validator: large.validator)
        request.digests = FurtherDigests.text(of: large.stated)
        let split = request
        state.withLock { state in
            state.multipart = multipart
            state.firstPart = firstPart
            state.request = Task { await Self.ask(split, send) }
        }
    }

    private static func ask(
        _ request: SplitRequest,
        _ send: @Sendable (SplitRequest) async throws(Failure) -> VerdictAnswer
    ) async -> Answer {
        do throws(Failure) {
            return try await send(request).verdict == .accepted ? .accepted : .open
        } catch {
            // If returned, the job would be split again and again, never with success.
            let isOpen =
                error.code.isOfUnavailableCluster || error.code == .workerCancelled
            return isOpen ? .open : .refused(error)
        }
    }

    /// Waits for the coordinator's answer.
    func answer() async -> Answer {
        guard let request = state.withLock({ $0.request }) else { return .none }
        return await request.value
    }
}
