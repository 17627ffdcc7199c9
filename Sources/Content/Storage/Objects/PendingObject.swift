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
        /// Bytes from `offset` of a file that several workers send to a bucket.
        case uploadedPart(MultipartID, offset: Int64)

        /// Offset in the whole file of the temporary file's first byte.
        var fileOffset: Int64 {
            if case .uploadedPart(_, let offset) = self { offset } else { 0 }
        }
    }

    let destination: Destination
    let descriptor: FileDescriptor
    let site: SiteDirectories
    let temporaryName: String
    /// Order of opening, assigned before the first write. The kernel reports a write error to every
    /// descriptor that was open at the time. The object with the lowest ordinal of a batch was open
    /// before any of its writes, so its descriptor reports all errors.
    let ordinal: UInt64
    let space: SpaceClaim
    let record: ProgressRecord
    private let range = RangeDigest()
    private let fileOffset: Int64
    private let isStreamed = Atomic<Bool>(false)
    private let stream = Mutex<BodyStream?>(nil)
    private let releasedStart = Mutex<SentStart?>(nil)
    private let renewal = Mutex<(@Sendable (PendingObject) -> Void)?>(nil)
    private let isSettled = Atomic<Bool>(false)
    private let isDisowned = Atomic<Bool>(false)

    private static let nextOrdinal = Atomic<UInt64>(0)

    init(
        destination: Destination, descriptor: FileDescriptor, site: SiteDirectories,
        temporaryName: String, ordinal: UInt64? = nil, isGrowing: Bool = false
    ) {
        self.destination = destination
        fileOffset = destination.fileOffset
        self.descriptor = descriptor
        self.site = site
        self.temporaryName = temporaryName
        space = SpaceClaim(in: site, isGrowing: isGrowing)
        record = ProgressRecord(in: site.partial)
        self.ordinal =
            ordinal ?? Self.nextOrdinal.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
    }

    deinit { discard() }

    /// Writes all of `bytes` at `offset` of the whole file.
    ///
    /// Blocks for a copy to the page cache. After a thrown `storage.` failure, the object must be
    /// discarded.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {
        try space.grow(by: bytes.count)
        let position = offset - fileOffset
        try asFailure { () throws(SystemError) in try descriptor.write(bytes, at: position) }
        range.update(bytes, at: offset)
        if isStreamed.load(ordering: .acquiring) {
            bodyStream?.wrote(bytes.count, at: position)
        }
        try space.wrote(bytes.count)
    }

    /// The parts in which a body is sent while it arrives; nil if it is sent as a whole.
    package var sentParts: PartBoundaries? { bodyStream?.parts }

    /// Records the digest of one of these parts, before its last bytes are written. For a body that is
    /// hashed from its start; parts of others are read for their digests.
    package func hashed(part index: Int, as hash: PartHash) { bodyStream?.hashed(index, hash) }

    /// The start of the body that its file no longer has, because the bucket has it.
    var released: SentStart? { releasedStart.withLock { $0 } }

    /// Returns the start within the first `bytes` that the bucket has; at least the released one.
    func sentStart(within bytes: Int64) -> SentStart? {
        let sent = bodyStream?.sentStart(within: bytes)
        guard let released else { return sent }
        return sent.map { $0.bytes > released.bytes ? $0 : released } ?? released
    }

    /// Lets the stream, which has ended, release nothing more; returns what it has released. Blocks
    /// for the write of a record.
    func endReleases() -> SentStart? {
        bodyStream?.cancel()
        record.wait()
        return released
    }

    /// Frees the space of a start that is sent, after it was recorded.
    func release(_ start: SentStart) {
        let before = releasedStart.withLock { present in
            defer { present = start }
            return present?.bytes ?? 0
        }
        descriptor.giveBack(offset: before, length: start.bytes - before)
    }

    /// Calls `renewal` when the bucket has more of the object.
    func renewsRecord(_ renewal: @escaping @Sendable (PendingObject) -> Void) {
        self.renewal.withLock { $0 = renewal }
    }

    /// Records that the bucket has more of it, if its progress is recorded. Blocks.
    func noteSent() { renewal.withLock { $0 }?(self) }

    /// Takes over a file whose start an earlier attempt has released.
    func take(released start: SentStart?) { releasedStart.withLock { $0 = start } }

    /// The upload that sends the bytes while they are written; nil for none.
    var bodyStream: BodyStream? { stream.withLock { $0 } }

    /// Reports written bytes to `stream` from now on. Must be called before the next write.
    func send(with stream: BodyStream) {
        let old = self.stream.withLock { present in
            defer { present = stream }
            return present
        }
        if let old {
            old.cancel()
            // It may be releasing space.
            record.wait()
        }
        isStreamed.store(true, ordering: .releasing)
    }

    /// Adds the written bytes to the digest of the whole file from now on.
    func follow(_ digest: OrderedDigest, offset: Int64, length: Int64) {
        range.follow(digest, offset: offset, length: length)
    }

    /// Adds bytes written before `makeMultipart` to the digest of the whole file. It reads them and
    /// so blocks, while others may continue to write. Without this call, the file is read once it
    /// is complete.
    package func catchUp() {
        guard case .multipart(let id) = destination, let digest = range.digest else { return }
        do throws(SystemError) {
            try digest.catchUp(with: try site.multipart.open(id.description, O_RDONLY | O_NONBLOCK))
        } catch {
            digest.breakOff()
        }
    }

    /// Records the SHA-256 of the written bytes, before the commit of a range.
    package func note(sha256: String) { range.note(sha256: sha256) }

    /// Removes the temporary file unless the object was committed; repeated calls do nothing.
    package func discard() {
        guard settle() else { return }
        space.giveBack()
        bodyStream?.discard()
        range.digest?.breakOff()
        // Best effort: remaining files are swept later.
        if case .multipart = destination {
        } else if !isDisowned.load(ordering: .acquiring) {
            try? site.temporary.unlink(temporaryName)
        }
        record.remove()
    }

    /// Removes the temporary file of an object that is stored elsewhere; its bytes still count in
    /// the quota.
    func removeStored() {
        guard settle() else { return }
        try? site.temporary.unlink(temporaryName)
        record.remove()
    }

    /// Ends the object but keeps its file and its record for a later attempt.
    package func leave() {
        guard settle() else { return }
        bodyStream?.cancel()
        range.digest?.breakOff()
    }

    /// Records that the temporary name may be another's file, so that the object does not remove
    /// it.
    func disown() { isDisowned.store(true, ordering: .releasing) }

    /// Returns true for the one caller that ends the object.
    func settle() -> Bool {
        guard !isSettled.exchange(true, ordering: .acquiringAndReleasing) else { return false }
        space.releaseRest()
        return true
    }
}

/// The part of one range in the digest of its whole file, if the range continues the previous one.
private struct RangeDigest: ~Copyable, Sendable {
    private let isFollowed = Atomic<Bool>(false)
    private let chain = Mutex<(digest: OrderedDigest, offset: Int64, length: Int64)?>(nil)

    var digest: OrderedDigest? { chain.withLock { $0?.digest } }

    func follow(_ digest: OrderedDigest, offset: Int64, length: Int64) {
        chain.withLock { $0 = (digest, offset, length) }
        isFollowed.store(true, ordering: .releasing)
    }

    /// Adds written bytes; takes no lock for a range that is not followed.
    func update(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        guard isFollowed.load(ordering: .acquiring) else { return }
        digest?.update(bytes, at: offset)
    }

    func note(sha256: String) {
        guard let (digest, offset, length) = chain.withLock({ $0 }) else { return }
        digest.note(offset: offset, length: length, sha256: sha256)
    }
}
