internal import FileSystem
internal import Glibc
internal import Model

/// The open directories of a site: its root and Dray's own beneath it.
final class SiteDirectories: Sendable {
    let root: FileDescriptor
    let rootIdentity: FileStatus.Identity
    /// `.dray/tmp`
    let temporary: FileDescriptor
    /// `.dray/multipart`
    let multipart: FileDescriptor
    /// `.dray/partial`
    let partial: FileDescriptor
    /// Limits of the storage, kept when its root is opened again.
    let bounds: SpaceLimits
    /// True if the file system cannot reserve space.
    let reservesNothing: Bool

    /// Opens the site's directory at `location`, and checks that it is writable.
    ///
    /// Throws `storage.otherVolume`, `storage.sitePermission` if this user may not write to the
    /// site, and the failures of `init`.
    ///
    /// - Parameter volume: The volume that it must be on; nil for any.
    static func open(
        _ location: SiteLocation, bounds: SpaceLimits, volume: SiteVolume?
    ) throws(Failure) -> SiteDirectories {
        do throws(Failure) {
            let root: FileDescriptor
            if let volume {
                root = try VolumeMark.open(location, volume)
            } else {
                root = try location.open()
            }
            return try SiteDirectories(root, of: location, bounds: bounds)
        } catch {
            guard error.code == .storagePermission else { throw error }
            throw location.permissionFailure(error)
        }
    }

    /// Creates Dray's own directories if missing.
    ///
    /// They are never symlinks, and only their owner can read them, so that a web server on the
    /// edge serves nothing unfinished.
    ///
    /// Throws `storage.foreignDirectory` if one of them belongs to another user or is open to
    /// others. They could exchange a file's bytes before it is renamed. This holds for root too,
    /// which would rename another user's file.
    private init(
        _ descriptor: FileDescriptor, of location: SiteLocation, bounds: SpaceLimits
    ) throws(Failure) {
        self.bounds = bounds
        root = descriptor
        rootIdentity = try asFailure { () throws(SystemError) in try descriptor.status().identity }
        let own = try Self.openOrMake(ObjectKey.privateDirectory, in: root, of: location.path)
        temporary = try Self.openOrMake("tmp", in: own, of: location.path)
        multipart = try Self.openOrMake("multipart", in: own, of: location.path)
        partial = try Self.openOrMake("partial", in: own, of: location.path)
        reservesNothing = try !Self.probe(in: temporary).canReserve
    }

    /// Returns the unreserved bytes that multipart files will still need. Each file has its final
    /// length from the start.
    func unwrittenMultipartBytes() -> Int64 {
        guard reservesNothing, let names = try? multipart.names() else { return 0 }
        return names.reduce(0) { sum, name in
            guard let status = try? multipart.status(of: name), status.kind == .regular else {
                return sum
            }
            return sum + max(status.bytes - status.allocatedBytes, 0)
        }
    }

    /// Observations of a file that was written and removed.
    struct Probe {
        /// The file system's present time.
        var modifiedSeconds: Double
        /// The same, as of the last change of the file's status.
        var changedSeconds: Double
        var canReserve: Bool
    }

    /// Writes and removes a file.
    static func probe(
        in directory: FileDescriptor, bytes: Int = 1, isDurable: Bool = false
    ) throws(Failure) -> Probe {
        let name = "probe-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        return try asFailure { () throws(SystemError) in
            let file = try directory.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            defer { try? directory.unlink(name) }
            let zeros = [UInt8](repeating: 0, count: bytes)
            try zeros.withUnsafeBufferPointer { (bytes) throws(SystemError) in
                try file.write(UnsafeRawBufferPointer(bytes), at: 0)
            }
            if isDurable { try file.syncData() }
            let status = try file.status()
            return Probe(
                modifiedSeconds: status.modifiedSeconds, changedSeconds: status.changedSeconds,
                canReserve: try file.reserve(offset: 0, length: Int64(bytes)))
        }
    }

    /// Opens a directory, or creates it.
    ///
    /// - Parameter site: The site's path, for messages.
    static func openOrMake(
        _ name: String, in parent: FileDescriptor, of site: String
    ) throws(Failure) -> FileDescriptor {
        let top = "\(site)/\(ObjectKey.privateDirectory)"
        let path = name == ObjectKey.privateDirectory ? top : "\(top)/\(name)"
        let (directory, status): (FileDescriptor, FileStatus)
        do throws(SystemError) {
            let isNew = try parent.makeDirectory(named: name, mode: 0o700)
            if isNew { try parent.sync() }
            directory = try parent.openDirectory(name)
            status = try directory.status()
        } catch {
            let there = try? parent.status(of: name)
            if [ELOOP, ENOTDIR].contains(error.code), there?.kind != .directory {
                throw Failure(
                    .storageForeignDirectory,
                    "\(path) is not a directory; move it away, and Dray makes its own")
            }
            // Another user's directory with mode 0700 cannot even be opened.
            if error.code == EACCES, let there, !isOwn(there) { throw foreign(path, there, top) }
            throw Failure(error)
        }
        guard isOwn(status) else { throw foreign(path, status, top) }
        return directory
    }

    /// Returns true if only the worker's user can work in it.
    private static func isOwn(_ status: FileStatus) -> Bool {
        status.owner == geteuid() && status.permissions & 0o777 == 0o700
    }

    private static func foreign(_ path: String, _ status: FileStatus, _ top: String) -> Failure {
        let user = geteuid()
        let mode = "chmod -R u+rwX,go= '\(top)'"
        let commands =
            status.owner == user
            ? "run: \(mode)" : "run as root: chown -R \(user) '\(top)' && \(mode)"
        return Failure(
            .storageForeignDirectory,
            "\(path) belongs to user \(status.owner) with mode "
                + "\(String(status.permissions, radix: 8)); the worker runs as user \(user) and needs it "
                + "for itself. If it is Dray's own, \(commands)")
    }
}
