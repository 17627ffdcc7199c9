internal import FileSystem
package import Model
internal import Rendering
import Synchronization

/// Limits of a site's space for Dray: the floor and the quota. Safe from any thread.
///
/// The floor is checked before an object begins and while one grows. The file system itself reports
/// when it is full.
final class SpaceLimits: Sendable {
    private struct State {
        var floorBytes: Int64 = 0
        /// Bytes that the quota leaves for new and growing objects; nil for no quota.
        var quotaLeftBytes: Int64?
        /// Bytes ever promised to objects without reserved space in the file system.
        var promisedBytes: Int64 = 0
        var refusedByQuota = false
    }

    /// Observations of a file system. No lock is held meanwhile, because the file system may hang.
    private struct Look {
        var space: FileSystemSpace
        /// Unwritten bytes of multipart files.
        var unwrittenBytes: Int64
        /// Released bytes before the observation; later writes may be missing from it.
        var releasedBytes: Int64
    }

    private let state = Mutex(State())
    /// Bytes of `promisedBytes` that are written or abandoned. Writers on event loops take no lock
    /// for it.
    private let releasedBytes = Atomic<Int64>(0)
    /// True if there is a quota: growing objects take no lock without one.
    private let hasQuota = Atomic<Bool>(false)

    /// Bytes written between two checks for an object of unreserved length.
    static let stepBytes = 16 << 20

    func set(floorBytes: Int64, quotaLeftBytes: Int64?) {
        state.withLock { state in
            state.floorBytes = floorBytes
            state.quotaLeftBytes = quotaLeftBytes
            hasQuota.store(quotaLeftBytes != nil, ordering: .relaxed)
        }
    }

    /// True if the last rejected object exceeded the quota, not the file system.
    var refusedByQuota: Bool { state.withLock { $0.refusedByQuota } }

    /// Takes space for a new object from the quota and from the free space, in one step. Of several
    /// simultaneous objects, each gets all of its space or none. Throws as `check`.
    ///
    /// Returns the promised bytes. The caller passes them to `release` when they are written or no
    /// longer needed.
    ///
    /// - Parameter isOfQuota: False for bytes that the quota counts already.
    func take(
        _ bytes: Int64, in site: SiteDirectories, isOfQuota: Bool = true
    ) throws(Failure) -> Int64 {
        try admit(bytes, in: site, isOfQuota: isOfQuota) { state in
            if isOfQuota, let left = state.quotaLeftBytes { state.quotaLeftBytes = left - bytes }
            guard bytes >= Self.worthLooking else { return 0 }
            state.promisedBytes += bytes
            return bytes
        }
    }

    /// Releases promised bytes. Takes no lock.
    func release(_ bytes: Int64) {
        guard bytes > 0 else { return }
        releasedBytes.add(bytes, ordering: .acquiringAndReleasing)
    }

    /// Takes the next bytes of an object of unknown length from the quota; throws
    /// `storage.outgrown` if it leaves fewer. Returns the taken bytes, for `giveBack`.
    func grow(by bytes: Int64) throws(Failure) -> Int64 {
        guard hasQuota.load(ordering: .relaxed) else { return 0 }
        return try state.withLock { (state) throws(Failure) in
            guard let left = state.quotaLeftBytes else { return 0 }
            guard bytes <= left else {
                throw Failure(
                    .storageOutgrown,
                    "\(Self.size(bytes)) more to store; the quota leaves \(Self.size(left))"
                )
            }
            state.quotaLeftBytes = left - bytes
            return bytes
        }
    }

    /// Returns bytes to the quota that are not stored after all.
    func giveBack(_ bytes: Int64) {
        guard bytes > 0 else { return }
        state.withLock { state in
            if let left = state.quotaLeftBytes { state.quotaLeftBytes = left + bytes }
        }
    }

    /// Throws the failure that storing `bytes` more would have.
    ///
    /// `storage.full` is of the site: almost nothing fits, and the site must be paused.
    /// `storage.noRoom` and `storage.tooLarge` are of this object alone: others may fit. The
    /// coordinator itself detects a used quota.
    func check(_ bytes: Int64, in site: SiteDirectories) throws(Failure) {
        _ = try admit(bytes, in: site, isOfQuota: true) { _ in 0 }
    }

    /// Observes the file system, then decides by the observation and by all promises until then.
    ///
    /// Bytes released since the observation still count as promised, which may be too much. So a
    /// rejected object is checked again, a few times.
    private func admit(
        _ bytes: Int64, in site: SiteDirectories, isOfQuota: Bool,
        _ take: (inout State) -> Int64
    ) throws(Failure) -> Int64 {
        var looksLeft = 4
        while true {
            let isWorthIt = try state.withLock { (state) throws(Failure) in
                try Self.checkQuota(bytes, &state, isOfQuota: isOfQuota)
                return state.floorBytes > 0 || bytes >= Self.worthLooking
            }
            let look = isWorthIt ? try self.look(for: bytes, in: site) : nil
            looksLeft -= 1
            do throws(Failure) {
                return try state.withLock { (state) throws(Failure) in
                    try Self.checkQuota(bytes, &state, isOfQuota: isOfQuota)
                    if let look {
                        state.refusedByQuota = false
                        try Self.check(bytes, look, state)
                    }
                    return take(&state)
                }
            } catch {
                guard let look, looksLeft > 0,
                    releasedBytes.load(ordering: .acquiring) != look.releasedBytes
                else { throw error }
            }
        }
    }

    private func look(
        for bytes: Int64, in site: SiteDirectories
    ) throws(Failure) -> Look {
        let released = releasedBytes.load(ordering: .acquiring)
        // Promises do not affect an object that grows already.
        let unwritten = bytes > 0 ? site.unwrittenMultipartBytes() : 0
        let space = try asFailure { () throws(SystemError) in try site.root.space() }
        return Look(space: space, unwrittenBytes: unwritten, releasedBytes: released)
    }

    /// Throws `storage.full` if a writable site has no space above its floor.
    func checkFloor(in site: SiteDirectories) throws(Failure) {
        let floorBytes = state.withLock { $0.floorBytes }
        guard floorBytes > 0 else { return }
        let space = try asFailure { () throws(SystemError) in try site.root.space() }
        try Self.check(Self.worthLooking, space, floorBytes: floorBytes)
    }

    private static func checkQuota(
        _ bytes: Int64, _ state: inout State, isOfQuota: Bool
    ) throws(Failure) {
        guard isOfQuota, let left = state.quotaLeftBytes, bytes > left else { return }
        state.refusedByQuota = true
        throw Failure(
            .storageNoRoom,
            "\(size(bytes)) to store; the quota leaves \(size(left))")
    }

    private static func check(_ bytes: Int64, _ look: Look, _ state: State) throws(Failure) {
        let promised =
            bytes > 0 ? state.promisedBytes - look.releasedBytes + look.unwrittenBytes : 0
        try check(bytes, look.space, floorBytes: state.floorBytes, promised: promised)
    }

    private static func check(
        _ bytes: Int64, _ space: FileSystemSpace, floorBytes: Int64, promised: Int64 = 0
    ) throws(Failure) {
        let available = space.availableBytes
        guard available - promised - max(bytes, 0) >= floorBytes else {
            let floor =
                (floorBytes > 0 ? "; the floor is \(size(floorBytes))" : "")
                + (promised > 0 ? "; \(size(promised)) are promised to others" : "")
            let needed = "\(size(bytes)) to store"
            // A site without space for a probe is full.
            guard bytes > 0, available - floorBytes >= worthLooking else {
                throw Failure(.storageFull, "\(needed), \(size(available)) are free\(floor)")
            }
            guard space.totalBytes - floorBytes >= bytes else {
                throw Failure(
                    .storageTooLarge,
                    "\(needed), the file system has \(size(space.totalBytes)) in total\(floor)")
            }
            throw Failure(.storageNoRoom, "\(needed), \(size(available)) are free\(floor)")
        }
    }

    private static func size(_ bytes: Int64) -> String { HumanFormat.bytes(max(bytes, 0)) }

    /// Minimum size for a check; smaller objects fail at their first write. A site without this
    /// much space is full.
    static let worthLooking: Int64 = 1 << 20
}

extension DirectoryStorage {
    /// Sets the floor and the quota from now on.
    ///
    /// - Parameters:
    /// - floorBytes: Bytes of the file system to leave to others; 0 for none.
    /// - quotaLeftBytes: Bytes for objects from now on; nil for no quota. An object of known length
    ///   takes its bytes when it begins, others as they grow.
    package func setBounds(floorBytes: Int64, quotaLeftBytes: Int64?) {
        bounds.set(floorBytes: floorBytes, quotaLeftBytes: quotaLeftBytes)
    }

    /// Throws the failure that storing `bytes` more would have, as far as it is known before.
    package func checkSpace(for bytes: Int64) throws(Failure) {
        try bounds.check(bytes, in: verifiedDirectories())
    }

    /// True if the last rejected object exceeded the quota, not the file system.
    package var refusedByQuota: Bool { bounds.refusedByQuota }

    /// Throws if the site is not writable: writes a file of 1 MiB, makes it durable like objects,
    /// and removes it.
    package func probe() throws(Failure) {
        let site = try verifiedDirectories()
        try bounds.checkFloor(in: site)
        _ = try SiteDirectories.probe(
            in: site.temporary, bytes: Int(SpaceLimits.worthLooking),
            isDurable: durability != .none)
    }

    /// Returns the meaning of a discarded object's failure: if the site has space for a probe, the
    /// object is too long, and the site is not full. Blocks.
    ///
    /// - Parameters:
    /// - bytes: The object's length, or the bytes received so far.
    /// - isLengthKnown: True if the next attempt fails before it begins.
    package func judge(_ failure: Failure, bytes: Int64, isLengthKnown: Bool) -> Failure {
        guard failure.code == .storageFull, bytes > SpaceLimits.worthLooking else {
            return failure
        }
        do throws(Failure) { try probe() } catch { return error }
        return Failure(isLengthKnown ? .storageNoRoom : .storageOutgrown, failure.message)
    }
}
