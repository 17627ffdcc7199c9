internal import FileSystem
internal import Glibc
package import Model
import Synchronization

/// A site's storage in a directory: temporary objects, their commit under final keys, multipart
/// files.
///
/// Nothing partial is ever visible under a final key: an object is written to `.dray/tmp`, made
/// durable and renamed. Only when its directory is durable too does `commit` report success. No
/// path leaves the root: `ObjectKey` checks the text of keys, and openat2(2) resolves them beneath
/// the root without symlinks.
///
/// Every method may be called from any thread and blocks for file I/O.
package final class DirectoryStorage: Sendable {
    package let url: StorageURL
    let location: SiteLocation
    let durability: Durability
    let bounds: SpaceLimits
    let orderedDigests = OrderedDigests()
    let sweepPositions = SweepPositions()
    /// True if its file system is on another host or in a process; then each call may take long.
    package let isOnNetwork: Bool
    private let opened: Mutex<OpenedSite>

    /// Opens the site's directory within `roots`, creates it with its parents if missing, and
    /// checks with a probe file that it is writable.
    ///
    /// Throws `storage.outsideRoots`, `storage.otherVolume`, `storage.sitePermission`, and other
    /// failures that prevent writing.
    ///
    /// - Parameter volume: The recorded volume of the site. Nothing is created on another volume,
    ///   or if none is mounted. Nil for any.
    package init(
        _ url: StorageURL, durability: Durability = .batch, roots: SiteRoots = .anySite,
        volume: SiteVolume? = nil
    ) throws(Failure) {
        self.url = url
        location = try roots.location(of: url)
        self.durability = durability
        let bounds = SpaceLimits()
        self.bounds = bounds
        let site = try SiteDirectories.open(location, bounds: bounds, volume: volume)
        isOnNetwork = (try? site.root.isOnNetwork()) ?? false
        opened = Mutex(OpenedSite(site: site, volume: volume))
    }

    /// Returns the bytes that may still be written to the site's file system.
    package func availableBytes() throws(Failure) -> Int64 {
        let root = try verifiedDirectories().root
        return try asFailure { () throws(SystemError) in try root.space().availableBytes }
    }

    // MARK: - Writing

    /// Creates an empty temporary object for `key`.
    ///
    /// - Parameters:
    /// - lease, job: Name the temporary file, so that an attempt without a lease cannot touch the
    ///   next attempt's.
    /// - number: Index from 1 among several objects of one job.
    /// - reservingBytes: Length to reserve, so that a full disk is found before the download; 0
    ///   reserves nothing. Nil for an unknown length: the quota counts written bytes.
    package func createTemporary(
        lease: LeaseID, job: JobID, key: String, number: Int = 0, reservingBytes: Int64? = 0
    ) throws(Failure) -> PendingObject {
        try createTemporary(
            PrivateName.temporary(lease: lease, job: job, number: number),
            for: .key(try ObjectKey(key)), reservingBytes: reservingBytes)
    }

    /// Creates an empty temporary object of that name.
    func createTemporary(
        _ name: String, for destination: PendingObject.Destination, reservingBytes: Int64? = 0
    ) throws(Failure) -> PendingObject {
        let (site, file) = try openPrivate { (site) throws(SystemError) in
            do throws(SystemError) {
                return try Self.createFile(name, in: site.temporary)
            } catch {
                guard error.code == EEXIST else { throw error }
                // The same lease retries the job. A new file replaces the old one, because an
                // earlier attempt may still have that open.
                try site.temporary.unlink(name)
                return try Self.createFile(name, in: site.temporary)
            }
        }
        let object = PendingObject(
            destination: destination, descriptor: file, site: site, temporaryName: name,
            isGrowing: reservingBytes == nil)
        if let reservingBytes { try Self.reserve(reservingBytes, at: 0, of: object) }
        return object
    }

    /// Opens a multipart file to write one range of it.
    ///
    /// The splitting attempt creates the file, with its whole length reserved from then on; it is
    /// never shortened. A missing file is `integrity.multipartMismatch`: it has started over, or
    /// was swept after inactivity. A new one would lack the other parts but reserve space for all
    /// of them.
    ///
    /// - Parameters:
    /// - totalBytes: Length of the whole file.
    /// - isFirstTry: True if no other attempt has ever written the range. If all ranges are first
    ///   tries and begin here in order, the whole file's digest is known at its end.
    /// - isNew: Creates the file, which the quota does not count yet.
    package func openMultipart(
        id: MultipartID, offset: Int64, length: Int64, of totalBytes: Int64,
        isFirstTry: Bool = false, isNew: Bool = false
    ) throws(Failure) -> PendingObject {
        let name = id.description
        let (site, file): (SiteDirectories, FileDescriptor)
        if isNew {
            (site, file) = try openPrivate { (site) throws(SystemError) in
                try site.multipart.open(name, O_RDWR | O_CREAT, mode: 0o666)
            }
        } else {
            site = try verifiedDirectories()
            do throws(SystemError) {
                file = try site.multipart.open(name, O_RDWR)
            } catch {
                guard error.code == ENOENT else { throw Failure(error) }
                throw Failure(
                    .integrityMultipartMismatch,
                    "the multipart file of the part at \(offset) is not at the site")
            }
        }
        let part = PendingObject(
            destination: .multipart(id), descriptor: file, site: site, temporaryName: name)
        try Self.reserveWhole(totalBytes, of: file, in: site, isOfQuota: isNew)
        part.space.markReserved()
        if isFirstTry,
            let chain = orderedDigests.chain(id, at: offset),
            chain.begin(offset: offset, length: length)
        {
            part.follow(chain, offset: offset, length: length)
        }
        return part
    }

    /// Removes the file of an attempt; the same as `PendingObject.discard`.
    package func discard(_ object: PendingObject) { object.discard() }

    private static func createFile(
        _ name: String, in directory: FileDescriptor
    ) throws(SystemError) -> FileDescriptor {
        let file = try directory.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
        // Shows sweeps that the file has a writer. Without the lock, the file counts as abandoned
        // by its age only.
        _ = file.tryLock()
        return file
    }

    /// Reserves space. Small objects are not worth the call: their first write fails as early.
    static func reserve(
        _ bytes: Int64, at offset: Int64, of object: PendingObject
    ) throws(Failure) {
        object.space.promise(try object.site.bounds.take(bytes, in: object.site))
        object.space.took(bytes)
        guard bytes >= SpaceLimits.worthLooking else { return }
        let isReserved = try asFailure { () throws(SystemError) in
            try object.descriptor.reserve(offset: offset, length: bytes)
        }
        if isReserved { object.space.markReserved() }
    }

    /// Reserves the space of a whole multipart file, once. Otherwise several such files could each
    /// get a part of their space and all stop halfway. The file's length shows that its space is
    /// reserved.
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
            // A part may have been reserved before the space ran out.
            if (try? file.status())?.bytes == 0 { file.giveBack(offset: 0, length: totalBytes) }
            throw Failure(error)
        }
    }

    // MARK: - The site's directories

    /// Opens a file in a private directory; retries once if that directory was removed.
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

    /// Returns the open directories after a check that the root's path still leads to them. A moved
    /// directory would otherwise receive objects that are then reported as stored.
    func verifiedDirectories() throws(Failure) -> SiteDirectories {
        if let site = opened.withLock({ $0.use() }),
            let status = try? FileStatus.of(location.path), status.identity == site.rootIdentity
        {
            return site
        }
        return try reopen()
    }

    /// Opens the directories and checks the volume again. On another volume they stay closed, so
    /// that later calls fail as well.
    private func reopen() throws(Failure) -> SiteDirectories {
        let volume = opened.withLock { $0.volume }
        do throws(Failure) {
            let site = try SiteDirectories.open(location, bounds: bounds, volume: volume)
            opened.withLock { $0.open(site, on: volume) }
            return site
        } catch {
            opened.withLock { $0.close() }
            throw error
        }
    }

    // MARK: - The volume

    /// Returns the site's volume, from an existing mark or a new one.
    ///
    /// - Parameter others: marks of other sites, which this directory has as a copy of theirs.
    package func markVolume(besides others: [VolumeID] = []) throws(Failure) -> SiteVolume {
        let root = try verifiedDirectories().root
        let fileSystem = root.fileSystemID
        if let known = opened.withLock({ $0.volume }) {
            return SiteVolume(id: known.id, fileSystem: fileSystem)
        }
        return SiteVolume(
            id: try VolumeMark.ensure(in: root, of: location, besides: others),
            fileSystem: fileSystem)
    }

    /// Throws `storage.otherVolume` if a site is not on `volume`. Creates nothing.
    package static func check(_ site: StorageURL, isOn volume: SiteVolume) throws(Failure) {
        try VolumeMark.check(try SiteRoots.anySite.location(of: site), volume)
    }

    /// Requires the site to be on `volume` from now on, nil for any. Throws `storage.otherVolume`
    /// if it is not, or the failure of opening it.
    package func require(volume: SiteVolume?) throws(Failure) {
        opened.withLock { $0.require(volume) }
        _ = try verifiedDirectories()
    }

    /// Closes the site's directories after `idleSeconds` without use, so that its file system can
    /// be unmounted. Running objects keep them open until they end. The next use opens them again.
    package func closeIdle(
        now: ContinuousClock.Instant = .now, idleSeconds: Double = DirectoryStorage.idleSeconds
    ) {
        // Closed outside of the lock.
        let closed = opened.withLock { $0.closeIdle(now: now, seconds: idleSeconds) }
        _ = closed
    }

    /// Time without use after which directories are closed.
    package static let idleSeconds = 5.0

    /// True if the site's directories are open for the next use.
    package var isOpen: Bool { opened.withLock { $0.isOpen } }
}

/// A site's directories while they are in use, and the volume that they must be on. A value.
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

    /// Stores the directories, unless another volume has been required meanwhile.
    mutating func open(_ site: SiteDirectories, on volume: SiteVolume?) {
        guard self.volume == volume else { return }
        self.site = site
        usedAt = .now
    }

    mutating func close() { site = nil }

    /// Requires a volume and closes the directories, which may be on another one.
    mutating func require(_ volume: SiteVolume?) {
        guard self.volume != volume else { return }
        self.volume = volume
        site = nil
    }

    /// Returns the directories to close, if any.
    mutating func closeIdle(now: ContinuousClock.Instant, seconds: Double) -> SiteDirectories? {
        guard let open = site, now - usedAt >= .seconds(seconds) else { return nil }
        site = nil
        return open
    }
}
