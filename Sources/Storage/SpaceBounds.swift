internal import FileSystem
package import Model
import Synchronization

/// What of a site's room Dray leaves alone. Safe from any thread.
///
/// The floor is looked at before an object begins and while one grows; the file system itself says
/// when there is no room at all.
final class SpaceBounds: Sendable {
    private struct State {
        var floorBytes: Int64 = 0
        /// What the quota leaves for objects that begin from now on; nil for no quota.
        var quotaLeftBytes: Int64?
    }

    private let state = Mutex(State())

    /// How much is written between two looks at an object whose length was not reserved, in bytes.
    static let stepBytes = 16 << 20

    func set(floorBytes: Int64, quotaLeftBytes: Int64?) {
        state.withLock { $0 = State(floorBytes: floorBytes, quotaLeftBytes: quotaLeftBytes) }
    }

    /// Takes room for an object that begins, off what the quota leaves; throws as `check`.
    func take(_ bytes: Int64, in directory: FileDescriptor) throws(Failure) {
        try check(bytes, in: directory)
        let left = state.withLock { state -> Int64? in
            guard let left = state.quotaLeftBytes, bytes <= left else {
                return state.quotaLeftBytes
            }
            state.quotaLeftBytes = left - bytes
            return nil
        }
        // Somebody else came first.
        if let left { throw Self.overQuota(bytes, left) }
    }

    private static func overQuota(_ bytes: Int64, _ left: Int64) -> Failure {
        Failure("storage.noRoom", "\(bytes) bytes are to be stored; the quota leaves \(left)")
    }

    /// Throws what storing `bytes` more would fail with.
    ///
    /// `storage.full` is of the site: next to nothing has room there, and it is to be paused.
    /// `storage.noRoom` and `storage.tooLarge` are of this object alone: others may fit. That a quota is
    /// used up the coordinator sees by itself.
    func check(_ bytes: Int64, in directory: FileDescriptor) throws(Failure) {
        let bounds = state.withLock { $0 }
        if let left = bounds.quotaLeftBytes, bytes > left {
            throw Self.overQuota(bytes, left)
        }
        guard bounds.floorBytes > 0 || bytes >= Self.worthLooking else { return }
        try check(bytes, in: directory, floorBytes: bounds.floorBytes)
    }

    /// Throws `storage.full` where what has room at a site that can be written has none above its floor.
    func checkFloor(in directory: FileDescriptor) throws(Failure) {
        let floorBytes = state.withLock { $0.floorBytes }
        guard floorBytes > 0 else { return }
        try check(Self.worthLooking, in: directory, floorBytes: floorBytes)
    }

    private func check(
        _ bytes: Int64, in directory: FileDescriptor, floorBytes: Int64
    ) throws(Failure) {
        let space = try asFailure { () throws(SystemError) in try directory.space() }
        let available = space.availableBytes
        guard available - max(bytes, 0) >= floorBytes else {
            let floor = floorBytes > 0 ? "; \(floorBytes) are to stay free" : ""
            let needed = "\(max(bytes, 0)) bytes are to be stored"
            // What a probe has no room for, nothing has.
            guard bytes > 0, available - floorBytes >= Self.worthLooking else {
                throw Failure("storage.full", "\(needed), \(available) are free\(floor)")
            }
            guard space.totalBytes - floorBytes >= bytes else {
                throw Failure(
                    "storage.tooLarge",
                    "\(needed), the file system has \(space.totalBytes) in all\(floor)")
            }
            throw Failure("storage.noRoom", "\(needed), \(available) are free\(floor)")
        }
    }

    /// Smaller objects find out by their first write. A site that has no room for so much is full.
    static let worthLooking: Int64 = 1 << 20
}

extension DirectoryStorage {
    /// Sets what is left alone from now on.
    ///
    /// - Parameters:
    ///   - floorBytes: of the file system, for others; 0 for none.
    ///   - quotaLeftBytes: what objects that begin from now on may come to; nil for no quota. Those whose
    ///     length is known are taken off it as they begin.
    package func setBounds(floorBytes: Int64, quotaLeftBytes: Int64?) {
        bounds.set(floorBytes: floorBytes, quotaLeftBytes: quotaLeftBytes)
    }

    /// Throws what storing `bytes` more would fail with, as far as that is known before.
    package func checkSpace(for bytes: Int64) throws(Failure) {
        try bounds.check(bytes, in: verifiedDirectories().root)
    }

    /// Throws what keeps the site from being written: writes a file of 1 MiB, makes it durable where
    /// objects are, and removes it.
    package func probe() throws(Failure) {
        let site = try verifiedDirectories()
        try bounds.checkFloor(in: site.root)
        _ = try SiteDirectories.probe(
            in: site.temporary, bytes: Int(SpaceBounds.worthLooking),
            isDurable: durability != .none)
    }

    /// What the failure of an object that has been discarded means: where the site has room for a probe,
    /// it was the object that is too long, and not the site that is full. Blocks.
    ///
    /// - Parameters:
    ///   - bytes: the object's length, or what of it had come.
    ///   - isLengthKnown: it fails before it begins, the next time.
    package func judge(_ failure: Failure, bytes: Int64, isLengthKnown: Bool) -> Failure {
        guard failure.code == "storage.full", bytes > SpaceBounds.worthLooking else {
            return failure
        }
        do throws(Failure) { try probe() } catch { return error }
        return Failure(isLengthKnown ? "storage.noRoom" : "storage.outgrown", failure.message)
    }
}
