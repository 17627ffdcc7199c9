internal import FileSystem
internal import Glibc
package import Model
import Synchronization

/// Bytes on their way to a final key: an open temporary file, or a range of an assembly.
///
/// Writes may come from any thread. It ends by `DirectoryStorage.commit` or `discard`; one that is
/// simply dropped discards itself. Discarding a range leaves the shared file alone.
package final class PendingObject: Sendable {
    enum Destination: Sendable {
        case key(ObjectKey)
        case assembly(id: String)
    }

    let destination: Destination
    let descriptor: FileDescriptor
    let site: SiteDirectories
    let temporaryName: String
    /// Taken after the file was opened and before its first write. The kernel reports a write error
    /// to every descriptor that was open when it happened; the object with the lowest ordinal of a
    /// batch was open before anything of that batch was written, so it hears of all of them.
    let ordinal: UInt64
    /// Nobody has said how long it will be: the quota counts what it comes to.
    private let isGrowing: Bool
    /// What it has taken of the quota.
    private let takenBytes = Atomic<Int64>(0)
    private let isSettled = Atomic<Bool>(false)
    /// Of a range that goes on where the one before it ended.
    private let isFollowed = Atomic<Bool>(false)
    private let chain = Mutex<(digest: OrderedDigest, offset: Int64, length: Int64)?>(nil)
    private let isReserved = Atomic<Bool>(false)
    /// What it is still to come to of the room that it was promised.
    private let promised = Atomic<Int64>(0)
    private let isDisowned = Atomic<Bool>(false)
    /// Bytes written since the file system's room was looked at.
    private let unlooked = Atomic<Int>(0)
    /// What is known of its file in `.dray/partial`.
    private struct Record {
        /// Once there is one.
        var name: String?
        /// How many bytes it speaks of.
        var bytes: Int64 = 0
        /// It is not to be written any more.
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
    /// Blocks for a copy to the page cache. Throws a `storage.` failure; the object is then to be
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
        if unlooked.add(bytes.count, ordering: .relaxed).newValue >= SpaceBounds.stepBytes {
            unlooked.store(0, ordering: .relaxed)
            try site.bounds.check(0, in: site)
        }
    }

    /// Its room is its own: what others leave free does not matter to it.
    func markReserved() {
        isReserved.store(true, ordering: .relaxed)
        release(.max)
    }

    /// Takes note of what `SpaceBounds.take` has taken off the quota: discarded, the object gives it back.
    func took(_ bytes: Int64) { takenBytes.add(bytes, ordering: .relaxed) }

    var quotaBytes: Int64 { takenBytes.load(ordering: .relaxed) }

    /// Takes over what `SpaceBounds.take` has promised.
    func promise(_ bytes: Int64) { promised.store(bytes, ordering: .relaxed) }

    /// Gives up to `bytes` of what was promised back: they are written, or will not be.
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

    /// Has the bytes added to the digest of the whole file.
    func follow(_ digest: OrderedDigest, offset: Int64, length: Int64) {
        chain.withLock { $0 = (digest, offset, length) }
        isFollowed.store(true, ordering: .releasing)
    }

    /// Adds what was written before `makeAssembly` to the digest of the whole file: reads it, and so
    /// blocks, while others may go on writing. Never called, the file is read when it is whole.
    package func catchUp() {
        guard case .assembly(let id) = destination, let digest = chain.withLock({ $0?.digest })
        else { return }
        do throws(SystemError) {
            try digest.catchUp(with: try site.assembly.open(id, O_RDONLY | O_NONBLOCK))
        } catch {
            digest.breakOff()
        }
    }

    /// Notes the SHA-256 of what was written, before the commit of a range.
    package func note(sha256: String) {
        guard let (digest, offset, length) = chain.withLock({ $0 }) else { return }
        digest.note(offset: offset, length: length, sha256: sha256)
    }

    /// Removes the temporary file unless the object was committed; does nothing the second time.
    package func discard() {
        guard settle() else { return }
        site.bounds.giveBack(takenBytes.load(ordering: .relaxed))
        chain.withLock { $0 }?.digest.breakOff()
        // Best effort: what is left behind is swept later.
        if case .key = destination, !isDisowned.load(ordering: .acquiring) {
            try? site.temporary.unlink(temporaryName)
        }
        removeRecord()
    }

    /// Ends the object and leaves its file and its record where they are, for a later attempt.
    package func leave() {
        guard settle() else { return }
        chain.withLock { $0 }?.digest.breakOff()
    }

    /// The temporary name may be another's file from now on: the object does not remove it.
    func disown() { isDisowned.store(true, ordering: .releasing) }

    /// True for the one caller that ends the object.
    func settle() -> Bool {
        guard !isSettled.exchange(true, ordering: .acquiringAndReleasing) else { return false }
        release(.max)
        return true
    }

    /// Has the record written by `write`, unless the object has ended or more has been noted; the last
    /// one in any case. Blocks, but no other call does for it.
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

    /// Forgets how far the object is: it is whole, or gone.
    func removeRecord() {
        let name = record.withLock { record in
            record.isFinal = true
            return record.name.take()
        }
        guard let name else { return }
        try? site.partial.unlink(name)
    }
}
