internal import FileSystem
internal import Glibc
import Model

extension FileDescriptor {
    var fileSystemID: FileSystemID? { fileSystemIdentity().flatMap { FileSystemID($0) } }
}

/// The mark that identifies a site's volume: the empty file `.dray/volume/ID`, named by a random
/// UUID.
///
/// A cluster records the ID and the file system of its site. If the mark is missing on the same
/// file system, the directory was removed there; it gets the mark again. Elsewhere it is on another
/// file system, or the mount point of an unmounted one. A directory of several sites may have
/// several marks.
enum VolumeMark {
    private static let directory = "volume"

    /// Opens a site's directory with its mark, which is restored if necessary. Creates nothing on
    /// another file system.
    ///
    /// Throws `storage.otherVolume` if the directory or the mark is missing on another file system.
    static func open(_ location: SiteLocation, _ volume: SiteVolume) throws(Failure)
        -> FileDescriptor
    {
        if let root = try check(location, volume) { return root }
        let root = try location.open()
        guard root.fileSystemID == volume.fileSystem else {
            throw otherVolume(location, "it was mounted over meanwhile")
        }
        try make(volume.id, in: try openOrMakeMarks(in: root, of: location))
        return root
    }

    /// Returns the site's directory if it has the mark; nil if the mark must be restored. Creates
    /// nothing. Throws as `open`.
    @discardableResult
    static func check(
        _ location: SiteLocation, _ volume: SiteVolume
    ) throws(Failure) -> FileDescriptor? {
        let root = try location.openExisting()
        if let root, try has(volume.id, root, location) { return root }
        if let known = volume.fileSystem, location.fileSystem() == known { return nil }
        throw otherVolume(
            location, root == nil ? "it does not exist" : "it has no mark \(path(volume.id))")
    }

    /// Returns the ID of an existing mark, or of a new, durable one.
    static func ensure(in root: FileDescriptor, of location: SiteLocation) throws(Failure)
        -> VolumeID
    {
        let marks = try openOrMakeMarks(in: root, of: location)
        if let known = mark(in: marks) { return known }
        let new = VolumeID.random()
        try make(new, in: marks)
        return new
    }

    /// Returns the first existing mark.
    private static func mark(in marks: FileDescriptor) -> VolumeID? {
        (try? marks.names())?.compactMap { VolumeID($0) }.sorted().first { id in
            (try? marks.status(of: id.description))?.kind == .regular
        }
    }

    private static func openOrMakeMarks(
        in root: FileDescriptor, of location: SiteLocation
    ) throws(Failure) -> FileDescriptor {
        let own = try SiteDirectories.openOrMake(
            ObjectKey.privateDirectory, in: root, of: location.path)
        return try SiteDirectories.openOrMake(directory, in: own, of: location.path)
    }

    private static func make(_ mark: VolumeID, in marks: FileDescriptor) throws(Failure) {
        try asFailure { () throws(SystemError) in
            do throws(SystemError) {
                try marks.open(mark.description, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600).sync()
            } catch {
                // Another worker has created it.
                if error.code != EEXIST { throw error }
            }
            try marks.sync()
        }
    }

    private static func path(_ volume: VolumeID) -> String {
        "\(ObjectKey.privateDirectory)/\(directory)/\(volume)"
    }

    private static func has(
        _ volume: VolumeID, _ root: FileDescriptor, _ location: SiteLocation
    ) throws(Failure) -> Bool {
        let marks = try openOrMissing("\(ObjectKey.privateDirectory)/\(directory)", root, location)
        return (try? marks?.status(of: volume.description))?.kind == .regular
    }

    /// Opens a directory; nil if it is missing. Throws `storage.foreignDirectory` for another
    /// user's.
    private static func openOrMissing(
        _ path: String, _ root: FileDescriptor, _ location: SiteLocation
    ) throws(Failure) -> FileDescriptor? {
        do throws(SystemError) {
            return try root.openDirectory(path)
        } catch {
            if error.code == ENOENT { return nil }
            // Another user's `.dray` must be reported.
            _ = try SiteDirectories.openOrMake(
                ObjectKey.privateDirectory, in: root, of: location.path)
            if [ENOTDIR, ELOOP].contains(error.code) { return nil }
            throw Failure(error)
        }
    }

    private static func otherVolume(_ location: SiteLocation, _ reason: String) -> Failure {
        Failure(
            .storageOtherVolume,
            "\(location.path) is not on the volume of the site: \(reason). It may not be mounted")
    }
}
