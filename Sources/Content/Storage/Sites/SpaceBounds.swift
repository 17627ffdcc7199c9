internal import FileSystem
package import Model
internal import Rendering
import Synchronization

/// What of a site's room Dray leaves alone. Safe from any thread.
///
/// The floor is looked at before an object begins and while one grows; the file system itself says
/// when there is no room at all.
final class SpaceBounds: Sendable {
    private struct State {
        var floorBytes: Int64 = 0
        /// What the quota leaves for objects that begin or grow from now on; nil for no quota.
        var quotaLeftBytes: Int64?
        /// What objects were to come to and the file system kept no room for, all that ever began.
        var promisedBytes: Int64 = 0
        var refusedByQuota = false
    }

    /// What was seen of a file system. It may hang with it, so that no lock is held meanwhile.
    private struct Look {
        var space: FileSystemSpace
        /// Of files in parts.
        var unwrittenBytes: Int64
        /// Of all promises, before it: what was written later may not be seen in it.
        var releasedBytes: Int64
    }

    private let state = Mutex(State())
    /// What of `promisedBytes` nobody is to come to any more. Writers on event loops take no lock for it.
    private let releasedBytes = Atomic<Int64>(0)
    /// Whether there is a quota: objects that grow take no lock without one.
    private let hasQuota = Atomic<Bool>(false)

    /// How much is written between two looks at an object whose length was not reserved, in bytes.
    static let stepBytes = 16 << 20

    func set(floorBytes: Int64, quotaLeftBytes: Int64?) {
        state.withLock { state in
            state.floorBytes = floorBytes
            state.quotaLeftBytes = quotaLeftBytes
            hasQuota.store(quotaLeftBytes != nil, ordering: .relaxed)
        }
    }

    /// The last object that had no room was too long for the quota, and not for the file system.
    var refusedByQuota: Bool { state.withLock { $0.refusedByQuota } }

    /// Takes room for an object that begins, off what the quota leaves and off what is free, in one step:
    /// of several that begin at once each has all of its room, or none. Throws as `check`.
    ///
    /// Answers how many bytes are promised: `release` says which of them the file system has given, or
    /// nobody wants any more.
    ///
    /// - Parameter isOfQuota: false for what the quota counts already.
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

    /// Takes no lock.
    func release(_ bytes: Int64) {
        guard bytes > 0 else { return }
        releasedBytes.add(bytes, ordering: .acquiringAndReleasing)
    }

    /// Takes what an object of unknown length comes to next off what the quota leaves; `storage.outgrown`
    /// where that is less. Answers how many bytes were taken, which `giveBack` is for.
    func grow(by bytes: Int64) throws(Failure) -> Int64 {
        guard hasQuota.load(ordering: .relaxed) else { return 0 }
        return try state.withLock { (state) throws(Failure) in
            guard let left = state.quotaLeftBytes else { return 0 }
            guard bytes <= left else {
                throw Failure(
                    "storage.outgrown",
                    "\(Self.size(bytes)) more are to be stored; the quota leaves \(Self.size(left))"
                )
            }
            state.quotaLeftBytes = left - bytes
            return bytes
        }
    }

    /// What an object has taken, or has grown to, is not stored after all.
    func giveBack(_ bytes: Int64) {
        guard bytes > 0 else { return }
        state.withLock { state in
            if let left = state.quotaLeftBytes { state.quotaLeftBytes = left + bytes }
        }
    }

    /// Throws what storing `bytes` more would fail with.
    ///
    /// `storage.full` is of the site: next to nothing has room there, and it is to be paused.
    /// `storage.noRoom` and `storage.tooLarge` are of this object alone: others may fit. That a quota is
    /// used up the coordinator sees by itself.
    func check(_ bytes: Int64, in site: SiteDirectories) throws(Failure) {
        _ = try admit(bytes, in: site, isOfQuota: true) { _ in 0 }
    }

    /// Looks, and then decides by what was seen, and by what others have been promised until then.
    ///
    /// What was released since the look counts as still promised, which may be too much: who is refused
    /// then looks again, a few times.
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
        // What grows already is held up by nobody's promise.
        let unwritten = bytes > 0 ? site.unwrittenAssemblyBytes() : 0
        let space = try asFailure { () throws(SystemError) in try site.root.space() }
        return Look(space: space, unwrittenBytes: unwritten, releasedBytes: released)
    }

    /// Throws `storage.full` where what has room at a site that can be written has none above its floor.
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
            "storage.noRoom",
            "\(size(bytes)) are to be stored; the quota leaves \(size(left))")
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
                + (promised > 0 ? "; \(size(promised)) are for others that are under way" : "")
            let needed = "\(size(bytes)) are to be stored"
            // What a probe has no room for, nothing has.
            guard bytes > 0, available - floorBytes >= worthLooking else {
                throw Failure("storage.full", "\(needed), \(size(available)) are free\(floor)")
            }
            guard space.totalBytes - floorBytes >= bytes else {
                throw Failure(
                    "storage.tooLarge",
                    "\(needed), the file system has \(size(space.totalBytes)) in all\(floor)")
            }
            throw Failure("storage.noRoom", "\(needed), \(size(available)) are free\(floor)")
        }
    }

    private static func size(_ bytes: Int64) -> String { HumanFormat.bytes(max(bytes, 0)) }

    /// Smaller objects find out by their first write. A site that has no room for so much is full.
    static let worthLooking: Int64 = 1 << 20
}

extension DirectoryStorage {
    /// Sets what is left alone from now on.
    ///
    /// - Parameters:
    ///   - floorBytes: of the file system, for others; 0 for none.
    ///   - quotaLeftBytes: what objects may come to from now on; nil for no quota. Those whose length is
    ///     known are taken off it as they begin, the others as they grow.
    package func setBounds(floorBytes: Int64, quotaLeftBytes: Int64?) {
        bounds.set(floorBytes: floorBytes, quotaLeftBytes: quotaLeftBytes)
    }

    /// Throws what storing `bytes` more would fail with, as far as that is known before.
    package func checkSpace(for bytes: Int64) throws(Failure) {
        try bounds.check(bytes, in: verifiedDirectories())
    }

    /// The last object that had no room was too long for the quota, and not for the file system.
    package var refusedByQuota: Bool { bounds.refusedByQuota }

    /// Throws what keeps the site from being written: writes a file of 1 MiB, makes it durable where
    /// objects are, and removes it.
    package func probe() throws(Failure) {
        let site = try verifiedDirectories()
        try bounds.checkFloor(in: site)
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
