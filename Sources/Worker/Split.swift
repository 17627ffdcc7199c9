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
    private let job: Job
    private let lease: LeaseID
    let partBytes: Int64
    private let state = Mutex(State())

    init(worker: WorkerID, job: Job, lease: LeaseID, partBytes: Int64) {
        self.worker = worker
        self.job = job
        self.lease = lease
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
            worker: worker, job: job.id, lease: lease, assembly: assembly,
            totalBytes: large.totalBytes, partBytes: partBytes, validator: large.validator)
        request.digests = WorkerService.text(of: large.stated)
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

extension WorkerService {
    /// Makes a file of a transfer that has just begun one in parts, on a loop's thread. Answers with where
    /// the first one goes, if bytes of it were written already.
    func split(
        _ job: Job, _ lease: LeaseID, into split: Split, _ large: LargeObject,
        _ object: PendingObject?, _ storage: DirectoryStorage
    ) throws(Failure) -> PendingObject? {
        let assembly = split.name()
        let (part, total) = (split.partBytes, large.totalBytes)
        // Before anybody else can make a file of that name, or begin with a part that has no room.
        var (moved, first) = (PendingObject?.none, PendingObject?.none)
        if let object {
            moved = try storage.makeAssembly(
                of: object, id: assembly, firstPart: part, totalBytes: total)
        } else {
            do throws(Failure) {
                first = try storage.openAssembly(
                    id: assembly, offset: 0, length: part, of: total, isFirstTry: true, isNew: true)
            } catch {
                storage.removeAssembly(id: assembly)
                throw error
            }
        }
        if let moved { blocking.start { moved.catchUp() } }
        held.setExpected(part, of: job.id, lease)
        held.setBegun(total, of: job.id, lease)
        split.begin(large, assembly, first) { (request) async throws(Failure) in
            let answer = try await self.client.split(request)
            if answer.verdict == .accepted { self.held.setTold(job.id, lease) }
            return answer
        }
        return moved
    }

    /// Whether a file was to be fetched in parts and no coordinator has said that it is. Its file is then
    /// removed, with its room for all of them: should the coordinator have made parts of it all the same,
    /// they find none, and the file starts over.
    func isWithout(_ split: Split, _ storage: DirectoryStorage) async -> Bool {
        let answer = await split.answer()
        guard let assembly = split.assembly else { return false }
        if case .accepted = answer { return false }
        await blocking.run { storage.removeAssembly(id: assembly) }
        return true
    }
}
