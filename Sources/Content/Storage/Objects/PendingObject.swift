internal import FileSystem
internal import Glibc
package import Model
import Synchronization

/// An object before its final key: an open temporary file, or a range of a multipart file.
///
/// Writes may come from any thread. It ends with `DirectoryStorage.commit` or `discard`; a dropped
/// one discards itself. Discarding a range does not change the shared file.
package final class PendingObject: Sendable {
    enum Destination: Sendable {
        case key(ObjectKey)
        case multipart(MultipartID)
    }

    let destination: Destination
    let descriptor: FileDescriptor
    let site: SiteDirectories
    let temporaryName: String
    /// Order of opening, assigned before the first write. The kernel reports a write error to every
    /// descriptor that was open at the time. The object with the lowest ordinal of a batch was open
    /// before any of its writes, so its descriptor reports all errors.
    let ordinal: UInt64
    /// True if the length is unknown: the quota counts written bytes.
    private let isGrowing: Bool
    /// Bytes taken from the quota.
    private let takenBytes = Atomic<Int64>(0)
    private let isSettled = Atomic<Bool>(false)
    /// True for a range that continues the previous one.
    private let isFollowed = Atomic<Bool>(false)
    private let chain = Mutex<(digest: OrderedDigest, offset: Int64, length: Int64)?>(nil)
    private let isReserved = Atomic<Bool>(false)
    /// Bytes still to write of the space promised to it.
    private let promised = Atomic<Int64>(0)
    private let isDisowned = Atomic<Bool>(false)
    /// Bytes written since the last check of the file system's free space.
    private let unlooked = Atomic<Int>(0)
    /// The state of its file in `.dray/partial`.
    private struct Record {
        /// Name, once there is a file.
        var name: String?
        /// Number of bytes that it records.
        var bytes: Int64 = 0
        /// True if it must not be written any more.
        var isFinal = false
    }

    private let record = Mutex(Record())
    /// Held while that file is written, by threads that may block.
    private let recordWriting = Mutex(())

    private static let nextOrdinal = Atomic<UInt64>(0)

    init(
        destination: Destination, descriptor: FileDescriptor, site: SiteDirectories,
        temporaryName: String, ordinal: UInt64? = nil, isGrowing: Bool = false
    ) {
        self.destination = destination
        self.descriptor = descriptor
        self.site = site
        self.temporaryName = temporaryName
        self.isGrowing = isGrowing
        self.ordinal =
            ordinal ?? Self.nextOrdinal.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
    }

    deinit { discard() }

    /// Writes all of `bytes` at `offset` of the whole file.
    ///
    /// Blocks for a copy to the page cache. After a thrown `storage.` failure, the object must be
    /// discarded.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {
        if isGrowing {
            takenBytes.add(try site.bounds.grow(by: Int64(bytes.count)), ordering: .relaxed)
        }
        try asFailure { () throws(SystemError) in try descriptor.write(bytes, at: offset) }
        if isFollowed.load(ordering: .acquiring) {
            chain.withLock { $0 }?.digest.update(bytes, at: offset)
        }
        guard !isReserved.load(ordering: .relaxed) else { return }
        release(Int64(bytes.count))
        if unlooked.add(bytes.count, ordering: .relaxed).newValue >= SpaceLimits.stepBytes {
            unlooked.store(0, ordering: .relaxed)
            try site.bounds.check(0, in: site)
        }
    }

    /// Records that its space is reserved, so that free space no longer matters to it.
    func markReserved() {
        isReserved.store(true, ordering: .relaxed)
        release(.max)
    }

    /// Records bytes that `SpaceLimits.take` took from the quota; a discard returns them.
    func took(_ bytes: Int64) { takenBytes.add(bytes, ordering: .relaxed) }

    var quotaBytes: Int64 { takenBytes.load(ordering: .relaxed) }

    /// Sets the bytes that `SpaceLimits.take` has promised.
    func promise(_ bytes: Int64) { promised.store(bytes, ordering: .relaxed) }

    /// Releases up to `bytes` of the promise: they are written, or will not be.
    private func release(_ bytes: Int64) {
        var left = promised.load(ordering: .relaxed)
        while left > 0 {
            let given = min(left, bytes)
            let (isDone, now) = promised.weakCompareExchange(
                expected: left, desired: left - given, ordering: .relaxed)
            if isDone { return site.bounds.release(given) }
            left = now
        }
    }

    /// Adds the written bytes to the digest of the whole file from now on.
    func follow(_ digest: OrderedDigest, offset: Int64, length: Int64) {
        chain.withLock { $0 = (digest, offset, length) }
        isFollowed.store(true, ordering: .releasing)
    }

    /// Adds bytes written before `makeMultipart` to the digest of the whole file. It reads them and
    /// so blocks, while others may continue to write. Without this call, the file is read once it
    /// is complete.
    package func catchUp() {
        guard case .multipart(let id) = destination, let digest = chain.withLock({ $0?.digest })
        else { return }
        do throws(SystemError) {
            try digest.catchUp(with: try site.multipart.open(id.description, O_RDONLY | O_NONBLOCK))
        } catch {
            digest.breakOff()
        }
    }

    /// Records the SHA-256 of the written bytes, before the commit of a range.
    package func note(sha256: String) {
        guard let (digest, offset, length) = chain.withLock({ $0 }) else { return }
        digest.note(offset: offset, length: length, sha256: sha256)
    }

    /// Removes the temporary file unless the object was committed; repeated calls do nothing.
    package func discard() {
        guard settle() else { return }
        site.bounds.giveBack(takenBytes.load(ordering: .relaxed))
        chain.withLock { $0 }?.digest.breakOff()
        // Best effort: remaining files are swept later.
        if case .key = destination, !isDisowned.load(ordering: .acquiring) {
            try? site.temporary.unlink(temporaryName)
        }
        removeRecord()
    }

    /// Ends the object but keeps its file and its record for a later attempt.
    package func leave() {
        guard settle() else { return }
        chain.withLock { $0 }?.digest.breakOff()
    }

    /// Records that the temporary name may be another's file, so that the object does not remove
    /// it.
    func disown() { isDisowned.store(true, ordering: .releasing) }

    /// Returns true for the one caller that ends the object.
    func settle() -> Bool {
        guard !isSettled.exchange(true, ordering: .acquiringAndReleasing) else { return false }
        release(.max)
        return true
    }

    /// Writes the record with `write`, unless the object has ended or has a later record; the last
    /// one in any case. Blocks no other calls.
    func writeRecord(
        _ name: String, bytes: Int64, isLast: Bool, _ write: () throws(Failure) -> Void
    ) throws(Failure) {
        let result = recordWriting.withLock { _ -> Result<Void, Failure> in
            let isWanted = record.withLock { record in
                guard !record.isFinal, isLast || bytes > record.bytes else { return false }
                record.bytes = bytes
                record.isFinal = isLast
                return true
            }
            guard isWanted else { return .success(()) }
            let result = Result { () throws(Failure) in try write() }
            let isGone = record.withLock { record in
                record.name = name
                return record.isFinal && !isLast
            }
            // The object has ended meanwhile.
            if isGone { removeRecord() }
            return result
        }
        try result.get()
    }

    /// Removes the progress record: the object is complete, or gone.
    func removeRecord() {
        let name = record.withLock { record in
            record.isFinal = true
            return record.name.take()
        }
        guard let name else { return }
        try? site.partial.unlink(name)
    }
}
