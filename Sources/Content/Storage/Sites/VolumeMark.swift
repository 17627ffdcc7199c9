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
/// file system, the directory was removed there; it gets the mark again, unless it has the mark of
/// another site. Elsewhere it is on another file system, or the mount point of an unmounted one.
/// A copied or moved directory may have several marks.
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
        let marks =
            try root.map { root throws(Failure) in try Self.marks(in: root, location) } ?? []
        if marks.contains(volume.id) { return root }
        if let other = marks.first {
            throw otherVolume(
                location, "it has the mark \(path(other)) of another one, not \(path(volume.id))")
        }
        if let known = volume.fileSystem, location.fileSystem() == known { return nil }
        throw otherVolume(
            location, root == nil ? "it does not exist" : "it has no mark \(path(volume.id))")
    }

    /// Returns the ID of an existing mark, or of a new, durable one.
    ///
    /// - Parameter others: marks of other sites, which this directory has as a copy of theirs.
    static func ensure(
        in root: FileDescriptor, of location: SiteLocation, besides others: [VolumeID] = []
    ) throws(Failure) -> VolumeID {
        func known() throws(Failure) -> VolumeID? {
            try marks(in: root, location).first { !others.contains($0) }
        }
        if let known = try known() { return known }
        let new = VolumeID.random()
        // Of several workers one makes the first mark, also those of two sites on one directory.
        if try makeFirst(new, in: root, of: location) { return new }
        if let known = try known() { return known }
        try make(new, in: try openOrMakeMarks(in: root, of: location))
        return new
    }

    /// Gives the directory of marks its name together with its first mark. Returns false if it has
    /// the name already.
    private static func makeFirst(
        _ mark: VolumeID, in root: FileDescriptor, of location: SiteLocation
    ) throws(Failure) -> Bool {
        let own = try SiteDirectories.openOrMake(
            ObjectKey.privateDirectory, in: root, of: location.path)
        let name = "\(directory).new-\(mark)"
        let marks = try SiteDirectories.openOrMake(name, in: own, of: location.path)
        try make(mark, in: marks)
        do throws(SystemError) {
            try own.rename(name, to: own, named: directory)
            try own.sync()
            return true
        } catch {
            try? marks.unlink(mark.description)
            try? own.removeDirectory(named: name)
            return false
        }
    }

    /// Returns the marks in a site's directory, and in the directories that contain it. Creates
    /// nothing; skips what cannot be read.
    static func all(_ location: SiteLocation) -> [VolumeID] {
        guard let root = try? location.openExisting() else { return [] }
        return ([root] + parents(of: root)).flatMap { directory in
            (try? directory.openDirectory(path)).map { names(in: $0) } ?? []
        }
    }

    /// Returns the directories that contain one, the closest first. Symlinks are resolved.
    static func parents(of directory: FileDescriptor) -> [FileDescriptor] {
        guard var components = (try? directory.path()).map({ pathComponents(of: $0) }) else {
            return []
        }
        var parents: [FileDescriptor] = []
        while components.popLast() != nil {
            let path = "/" + components.joined(separator: "/")
            if let parent = try? FileDescriptor.openLocation(path) { parents.append(parent) }
        }
        return parents
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

    private static var path: String { "\(ObjectKey.privateDirectory)/\(directory)" }

    private static func path(_ volume: VolumeID) -> String { "\(path)/\(volume)" }

    /// Returns the marks of a directory, sorted.
    private static func marks(
        in root: FileDescriptor, _ location: SiteLocation
    ) throws(Failure) -> [VolumeID] {
        try openOrMissing(path, root, location).map { names(in: $0) } ?? []
    }

    private static func names(in marks: FileDescriptor) -> [VolumeID] {
        ((try? marks.names()) ?? []).compactMap { VolumeID($0) }.sorted().filter { id in
            (try? marks.status(of: id.description))?.kind == .regular
        }
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
