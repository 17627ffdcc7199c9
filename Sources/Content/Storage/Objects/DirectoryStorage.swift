internal import FileSystem
internal import Glibc
package import Model
import Synchronization

/// A site's storage in a directory: temporary objects, their commit under final keys, assemblies.
///
/// Nothing partial is ever visible under a final key: an object is written to `.dray/tmp`, made
/// durable, renamed, and its directory made durable; only then does `commit` answer success. No path
/// leaves the root: keys are checked by their spelling (`ObjectKey`) and resolved by openat2(2)
/// beneath the root without symlinks.
///
/// Every method may be called from any thread and blocks for file I/O.
package final class DirectoryStorage: Sendable {
    package let url: StorageURL
    let place: SitePlace
    let durability: Durability
    let bounds: SpaceBounds
    let orderedDigests = Mutex(OrderedDigests())
    /// Of each of Dray's own directories.
    let sweepPlaces = Mutex([SweepPlace](repeating: SweepPlace(), count: 3))
    /// Another host answers the calls of its file system, or a process: each may take long.
    package let isOnNetwork: Bool
    private let opened: Mutex<OpenedSite>

    /// Opens the site's directory within `roots`, made with its missing parents, and proves by a probe file that it
    /// can be written.
    ///
    /// - Parameter volume: the volume that the site is on by what was recorded of it: then nothing is made on another
    ///   one, or where none is mounted. Nil for any.
    ///
    /// Throws `storage.outsideRoots`, `storage.otherVolume`, `storage.sitePermission` and what else keeps it from
    /// being written.
    package init(
        _ url: StorageURL, durability: Durability = .batch, roots: SiteRoots = .anySite,
        volume: SiteVolume? = nil
    ) throws(Failure) {
        self.url = url
        place = try roots.place(of: url)
        self.durability = durability
        let bounds = SpaceBounds()
        self.bounds = bounds
        let site = try SiteDirectories.open(place, bounds: bounds, volume: volume)
        isOnNetwork = (try? site.root.isOnNetwork()) ?? false
        opened = Mutex(OpenedSite(site: site, volume: volume))
    }

    /// Bytes that may still be written to the site's file system.
    package func availableBytes() throws(Failure) -> Int64 {
        let root = try verifiedDirectories().root
        return try asFailure { () throws(SystemError) in try root.space().availableBytes }
    }

    // MARK: - Writing

    /// Creates an empty temporary object for `key`.
    ///
    /// - Parameters:
    ///   - lease, job: name the temporary file, so that an attempt which lost its lease cannot touch
    ///     the next attempt's.
    ///   - number: of several objects of one job, from 1.
    ///   - reservingBytes: looks for room and reserves blocks, so that a full disk is found before
    ///     the download; 0 reserves none. Nil for an unknown length: the quota counts what is written.
    package func createTemporary(
        lease: LeaseID, job: JobID, key: String, number: Int = 0, reservingBytes: Int64? = 0
    ) throws(Failure) -> PendingObject {
        let key = try ObjectKey(key)
        let name = try PrivateName.temporary(lease: lease, job: job, number: number)
        let (site, file) = try openPrivate { (site) throws(SystemError) in
            do throws(SystemError) {
                return try Self.createFile(name, in: site.temporary)
            } catch {
                guard error.code == EEXIST else { throw error }
                // The same lease tries the job once more. A new file rather than the old one
                // emptied: a descriptor of the earlier try may still be open somewhere.
                try site.temporary.unlink(name)
                return try Self.createFile(name, in: site.temporary)
            }
        }
        let object = PendingObject(
            destination: .key(key), descriptor: file, site: site, temporaryName: name,
            isGrowing: reservingBytes == nil)
        if let reservingBytes { try Self.reserve(reservingBytes, at: 0, of: object) }
        return object
    }

    /// Opens the shared file of an assembly to write one range of it.
    ///
    /// The file is made by whoever splits it, has room for its whole length from then on, and is never
    /// cut short. One that is not there, because the file has started over or has stood still until the sweep,
    /// is `integrity.assemblyMismatch`: it would be a part without the others, with room for all of them.
    ///
    /// - Parameters:
    ///   - totalBytes: of the whole file.
    ///   - isFirstTry: nobody else has ever written the range. Where that is so of all ranges, and
    ///     each begins here after the one before it has ended, the whole file's digest is known at its end.
    ///   - isNew: makes the file, which the quota does not count yet.
    package func openAssembly(
        id: String, offset: Int64, length: Int64, of totalBytes: Int64, isFirstTry: Bool = false,
        isNew: Bool = false
    ) throws(Failure) -> PendingObject {
        try PrivateName.requireID(id)
        let (site, file): (SiteDirectories, FileDescriptor)
        if isNew {
            (site, file) = try openPrivate { (site) throws(SystemError) in
                try site.assembly.open(id, O_RDWR | O_CREAT, mode: 0o666)
            }
        } else {
            site = try verifiedDirectories()
            do throws(SystemError) {
                file = try site.assembly.open(id, O_RDWR)
            } catch {
                guard error.code == ENOENT else { throw Failure(error) }
                throw Failure(
                    "integrity.assemblyMismatch",
                    "what the part at \(offset) belongs to is not at the site")
            }
        }
        let part = PendingObject(
            destination: .assembly(id: id), descriptor: file, site: site, temporaryName: id)
        try Self.reserveWhole(totalBytes, of: file, in: site, isOfQuota: isNew)
        part.markReserved()
        if isFirstTry,
            let chain = orderedDigests.withLock({ $0.chain(id, at: offset) }),
            chain.begin(offset: offset, length: length)
        {
            part.follow(chain, offset: offset, length: length)
        }
        return part
    }

    /// Removes what an attempt wrote; the same as `PendingObject.discard`.
    package func discard(_ object: PendingObject) { object.discard() }

    private static func createFile(
        _ name: String, in directory: FileDescriptor
    ) throws(SystemError) -> FileDescriptor {
        let file = try directory.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
        // Shows sweeps that the file has a writer. Without it the file only looks abandoned when it is old.
        _ = file.tryLock()
        return file
    }

    /// Small objects are not worth the call: their first write finds out as early.
    static func reserve(
        _ bytes: Int64, at offset: Int64, of object: PendingObject
    ) throws(Failure) {
        object.promise(try object.site.bounds.take(bytes, in: object.site))
        object.took(bytes)
        guard bytes >= SpaceBounds.worthLooking else { return }
        let isReserved = try asFailure { () throws(SystemError) in
            try object.descriptor.reserve(offset: offset, length: bytes)
        }
        if isReserved { object.markReserved() }
    }

    /// Sees to it that a file in parts has room for all of them, once: one of several such files that got
    /// only a part of its room each would stop in its middle, and the others with it. That it has is told
    /// by its length.
    private static func reserveWhole(
        _ totalBytes: Int64, of file: FileDescriptor, in site: SiteDirectories, isOfQuota: Bool
    ) throws(Failure) {
        let status = try asFailure { () throws(SystemError) in try file.status() }
        guard status.bytes < totalBytes else { return }
        let promised = try site.bounds.take(
            max(totalBytes - status.allocatedBytes, 0), in: site, isOfQuota: isOfQuota)
        defer { site.bounds.release(promised) }
        do throws(SystemError) {
            _ = try file.reserve(offset: 0, length: totalBytes)
            try file.truncate(to: totalBytes)
        } catch {
            // Some of it may have been had before there was no more.
            if (try? file.status())?.bytes == 0 { file.giveBack(offset: 0, length: totalBytes) }
            throw Failure(error)
        }
    }

    // MARK: - The site's directories

    /// Opens a file in a private directory; once more after somebody removed that directory.
    private func openPrivate(
        _ open: (SiteDirectories) throws(SystemError) -> FileDescriptor
    ) throws(Failure) -> (SiteDirectories, FileDescriptor) {
        if let site = opened.withLock({ $0.use() }) {
            do throws(SystemError) {
                return (site, try open(site))
            } catch {
                guard error.code == ENOENT else { throw Failure(error) }
            }
        }
        let renewed = try reopen()
        return (renewed, try asFailure { () throws(SystemError) in try open(renewed) })
    }

    /// The open directories, after a check that the root's path still leads to them: a directory
    /// that was moved away would otherwise swallow objects that are then reported as stored.
    func verifiedDirectories() throws(Failure) -> SiteDirectories {
        if let site = opened.withLock({ $0.use() }),
            let status = try? FileStatus.of(place.path), status.identity == site.rootIdentity
        {
            return site
        }
        return try reopen()
    }

    /// Checks the volume again. Nothing stays open on another one, so that later calls fail as well.
    private func reopen() throws(Failure) -> SiteDirectories {
        let volume = opened.withLock { $0.volume }
        do throws(Failure) {
            let site = try SiteDirectories.open(place, bounds: bounds, volume: volume)
            opened.withLock { $0.open(site, on: volume) }
            return site
        } catch {
            opened.withLock { $0.close() }
            throw error
        }
    }

    // MARK: - The volume

    /// The volume that the site is on: that of a mark that is there, or of a new one.
    package func markVolume() throws(Failure) -> SiteVolume {
        let root = try verifiedDirectories().root
        let fileSystem = root.fileSystemIdentity()
        if let known = opened.withLock({ $0.volume }) {
            return SiteVolume(id: known.id, fileSystem: fileSystem)
        }
        return SiteVolume(
            id: try VolumeMark.ensure(in: root, of: place), fileSystem: fileSystem)
    }

    /// Throws `storage.otherVolume` where a site is not on `volume`. Makes nothing.
    package static func check(_ site: StorageURL, isOn volume: SiteVolume) throws(Failure) {
        try VolumeMark.check(try SiteRoots.anySite.place(of: site), volume)
    }

    /// Has the site be on `volume` from now on, nil for any. Throws `storage.otherVolume` where it is not, and what
    /// else keeps it from being opened.
    package func require(volume: SiteVolume?) throws(Failure) {
        opened.withLock { $0.require(volume) }
        _ = try verifiedDirectories()
    }

    /// Closes the site's directories where nothing has used them since `idleSeconds`, so that its file system can be
    /// unmounted. Objects under way keep them open until they end. The next use opens them again.
    package func closeIdle(
        now: ContinuousClock.Instant = .now, idleSeconds: Double = DirectoryStorage.idleSeconds
    ) {
        // Closed outside of the lock.
        let closed = opened.withLock { $0.closeIdle(now: now, seconds: idleSeconds) }
        _ = closed
    }

    /// For so long directories stay open without use.
    package static let idleSeconds = 5.0

    /// The site's directories are open for the next use.
    package var isOpen: Bool { opened.withLock { $0.isOpen } }
}

/// A site's directories while they are in use, and the volume that they have to be on. A value.
private struct OpenedSite {
    private var site: SiteDirectories?
    private(set) var volume: SiteVolume?
    private var usedAt = ContinuousClock.now

    init(site: SiteDirectories, volume: SiteVolume?) {
        self.site = site
        self.volume = volume
    }

    var isOpen: Bool { site != nil }

    mutating func use() -> SiteDirectories? {
        usedAt = .now
        return site
    }

    /// Unless another volume has been required meanwhile.
    mutating func open(_ site: SiteDirectories, on volume: SiteVolume?) {
        guard self.volume == volume else { return }
        self.site = site
        usedAt = .now
    }

    mutating func close() { site = nil }

    /// What is open may be on another one.
    mutating func require(_ volume: SiteVolume?) {
        guard self.volume != volume else { return }
        self.volume = volume
        site = nil
    }

    /// What is to be closed, if anything.
    mutating func closeIdle(now: ContinuousClock.Instant, seconds: Double) -> SiteDirectories? {
        guard let open = site, now - usedAt >= .seconds(seconds) else { return nil }
        site = nil
        return open
    }
}
