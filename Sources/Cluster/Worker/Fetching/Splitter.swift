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
        guard work.storage.isBucket else {
            return Split(worker: worker, work.leased, partBytes: partBytes)
        }
        let bytes = S3Storage.sharedPartBytes(for: partBytes)
        return Split(
            worker: worker, work.leased, partBytes: bytes,
            maximumBytes: S3Storage.maximumSharedBytes(partBytes: bytes))
    }

    /// Splits the file of a transfer that has just started, on a loop's thread. Returns the object
    /// of the first part if it has bytes already.
    func begin(
        _ split: Split, of work: Assignment, _ large: LargeObject, _ object: PendingObject?
    ) throws(Failure) -> PendingObject? {
        let multipart = MultipartID.random()
        let (part, total) = (split.partBytes, large.totalBytes)
        // Before another worker can create a file of that name, or start a part without space.
        var (moved, first) = (PendingObject?.none, PendingObject?.none)
        switch work.storage {
        case .directory(let storage):
            if let object {
                moved = try storage.makeMultipart(
                    of: object, id: multipart, firstPart: part, totalBytes: total)
            } else {
                first = try Self.open(multipart, part, of: total, in: storage)
            }
            if let moved { blocking.start { moved.catchUp() } }
        case .bucket(let storage):
            if let object {
                moved = try storage.makePart(of: object, id: multipart)
            } else {
                first = try storage.createPart(
                    lease: work.lease, job: work.job.id, of: multipart, offset: 0, length: part)
            }
        }
        held.setExpected(part, of: work.leased)
        held.setBegun(total, of: work.leased)
        split.begin(large, multipart, first) { (request) async throws(Failure) in
            // Other workers look for it once they have parts.
            if case .bucket(let storage) = work.storage {
                try await storage.beginShared(multipart, totalBytes: total, partBytes: part)
            }
            let answer = try await self.client.split(request)
            if answer.verdict == .accepted { self.held.setReported(work.job.id, work.lease) }
            return answer
        }
        return moved
    }

    private static func open(
        _ multipart: MultipartID, _ part: Int64, of total: Int64, in storage: DirectoryStorage
    ) throws(Failure) -> PendingObject {
        do throws(Failure) {
            return try storage.openMultipart(
                id: multipart, offset: 0, length: part, of: total, isFirstTry: true, isNew: true)
        } catch {
            storage.removeMultipart(id: multipart)
            throw error
        }
    }

    /// Returns true if a split was not confirmed by a coordinator. The multipart file and its
    /// reserved space are then removed. If the coordinator did create the parts, they find no file,
    /// and the download starts over.
    func isUndone(_ split: Split, _ storage: SiteStorage) async -> Bool {
        let answer = await split.answer()
        guard let multipart = split.multipart else { return false }
        if case .accepted = answer { return false }
        await blocking.run { storage.removeMultipart(id: multipart) }
        return true
    }
}
