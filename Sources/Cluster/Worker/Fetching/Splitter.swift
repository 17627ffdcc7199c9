import API
import CoordinatorClient
import Model
import Storage
import Transfer

/// Splits large files into parts, which several workers fetch.
struct Splitter: Sendable {
    let worker: WorkerID
    /// Size of a part in bytes.
    let partBytes: Int64
    let client: CoordinatorClient
    let held: HeldWork
    let blocking: BlockingCalls

    /// Creates the split of a fetch that may need one.
    func split(of work: Assignment) -> Split {
        Split(worker: worker, work.leased, partBytes: partBytes)
    }

    /// Splits the file of a transfer that has just started, on a loop's thread. Returns the object
    /// of the first part if it has bytes already.
    func begin(
        _ split: Split, of work: Assignment, _ large: LargeObject, _ object: PendingObject?
    ) throws(Failure) -> PendingObject? {
        let multipart = MultipartID.random()
        let (part, total) = (split.partBytes, large.totalBytes)
        let storage = work.storage.receiving
        // Before another worker can create a file of that name, or start a part without space.
        var (moved, first) = (PendingObject?.none, PendingObject?.none)
        if let object {
            moved = try storage.makeMultipart(
                of: object, id: multipart, firstPart: part, totalBytes: total)
        } else {
            do throws(Failure) {
                first = try storage.openMultipart(
                    id: multipart, offset: 0, length: part, of: total, isFirstTry: true, isNew: true
                )
            } catch {
                storage.removeMultipart(id: multipart)
                throw error
            }
        }
        if let moved { blocking.start { moved.catchUp() } }
        held.setExpected(part, of: work.leased)
        held.setBegun(total, of: work.leased)
        split.begin(large, multipart, first) { (request) async throws(Failure) in
            let answer = try await self.client.split(request)
            if answer.verdict == .accepted { self.held.setReported(work.job.id, work.lease) }
            return answer
        }
        return moved
    }

    /// Returns true if a split was not confirmed by a coordinator. The multipart file and its
    /// reserved space are then removed. If the coordinator did create the parts, they find no file,
    /// and the download starts over.
    func isUndone(_ split: Split, _ storage: SiteStorage) async -> Bool {
        let answer = await split.answer()
        guard let multipart = split.multipart else { return false }
        if case .accepted = answer { return false }
        await blocking.run { storage.receiving.removeMultipart(id: multipart) }
        return true
    }
}
