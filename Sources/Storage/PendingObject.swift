internal import FileSystem
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
    private let isSettled = Atomic<Bool>(false)

    private static let nextOrdinal = Atomic<UInt64>(0)

    init(
        destination: Destination, descriptor: FileDescriptor, site: SiteDirectories,
        temporaryName: String
    ) {
        self.destination = destination
        self.descriptor = descriptor
        self.site = site
        self.temporaryName = temporaryName
        ordinal = Self.nextOrdinal.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
    }

    deinit { discard() }

    /// Writes all of `bytes` at `offset` of the whole file.
    ///
    /// Blocks for a copy to the page cache. Throws a `storage.` failure; the object is then to be
    /// discarded.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {
        try asFailure { () throws(SystemError) in try descriptor.write(bytes, at: offset) }
    }

    /// Removes the temporary file unless the object was committed; does nothing the second time.
    package func discard() {
        guard settle() else { return }
        // Best effort: what is left behind is swept later.
        if case .key = destination { try? site.temporary.unlink(temporaryName) }
    }

    /// True for the one caller that ends the object.
    func settle() -> Bool { !isSettled.exchange(true, ordering: .acquiringAndReleasing) }
}
