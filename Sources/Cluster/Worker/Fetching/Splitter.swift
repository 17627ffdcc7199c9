import CoordinatorClient
import Model
import Storage
import Transfer

/// Makes large files ones in parts, which several workers fetch.
struct Splitter: Sendable {
    let worker: WorkerID
    /// Of each part, in bytes.
    let partBytes: Int64
    let client: CoordinatorClient
    let held: HeldWork
    let blocking: BlockingCalls

    /// Of a fetch that may be split.
    func split(of work: Assignment) -> Split {
        Split(worker: worker, work.leased, partBytes: partBytes)
    }

    /// Makes a file of a transfer that has just begun one in parts, on a loop's thread. Answers with where
    /// the first one goes, if bytes of it were written already.
    func begin(
        _ split: Split, of work: Assignment, _ large: LargeObject, _ object: PendingObject?
    ) throws(Failure) -> PendingObject? {
        let assembly = split.name()
        let (part, total, storage) = (split.partBytes, large.totalBytes, work.storage)
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
        held.setExpected(part, of: work.leased)
        held.setBegun(total, of: work.leased)
        split.begin(large, assembly, first) { (request) async throws(Failure) in
            let answer = try await self.client.split(request)
            if answer.verdict == .accepted { self.held.setTold(work.job.id, work.lease) }
            return answer
        }
        return moved
    }

    /// Whether a file was to be fetched in parts and no coordinator has confirmed it. Its file is then
    /// removed, with its room for all of them: should the coordinator have made parts of it all the same,
    /// they find none, and the file starts over.
    func isUndone(_ split: Split, _ storage: DirectoryStorage) async -> Bool {
        let answer = await split.answer()
        guard let assembly = split.assembly else { return false }
        if case .accepted = answer { return false }
        await blocking.run { storage.removeAssembly(id: assembly) }
        return true
    }
}
