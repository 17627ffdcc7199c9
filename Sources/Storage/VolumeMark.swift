internal import FileSystem
internal import FoundationEssentials
internal import Glibc
internal import Model

/// The mark by which a site knows its volume again: the file `.dray/volume/ID`, empty and named by a random UUID.
///
/// A cluster records the ID for its site. A directory without the mark is on another file system, or the mount
/// point of one that is not mounted. A directory that several sites share may have several marks.
enum VolumeMark {
    private static let directory = "volume"

    /// Opens a site's directory that has the mark; makes nothing.
    ///
    /// Throws `storage.otherVolume` where the directory or the mark is missing.
    static func open(_ place: SitePlace, _ volume: VolumeID) throws(Failure) -> FileDescriptor {
        guard let root = try place.openExisting() else {
            throw otherVolume(place, volume, "it does not exist")
        }
        guard try has(volume, root, place) else {
            throw otherVolume(place, volume, "it has no mark \(path(volume))")
        }
        return root
    }

    /// The ID of a mark that is there, or of a new one, which is durable then.
    static func ensure(in root: FileDescriptor, of place: SitePlace) throws(Failure) -> VolumeID {
        let own = try SiteDirectories.openOrMake(
            ObjectKey.privateDirectory, in: root, of: place.path)
        let marks = try SiteDirectories.openOrMake(directory, in: own, of: place.path)
        return try asFailure { () throws(SystemError) in
            let known = try marks.names().sorted().first { name in
                UUID(uuidString: name)?.uuidString.lowercased() == name
                    && (try? marks.status(of: name))?.kind == .regular
            }
            if let known { return known }
            let new = UUID().uuidString.lowercased()
            try marks.open(new, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600).sync()
            try marks.sync()
            try own.sync()
            return new
        }
    }

    private static func path(_ volume: VolumeID) -> String {
        "\(ObjectKey.privateDirectory)/\(directory)/\(volume)"
    }

    private static func has(
        _ volume: VolumeID, _ root: FileDescriptor, _ place: SitePlace
    ) throws(Failure) -> Bool {
        do throws(SystemError) {
            let marks = try root.openDirectory("\(ObjectKey.privateDirectory)/\(directory)")
            return try marks.status(of: volume).kind == .regular
        } catch {
            if error.code == ENOENT { return false }
            // Another user's `.dray`: that is what has to be reported.
            _ = try SiteDirectories.openOrMake(
                ObjectKey.privateDirectory, in: root, of: place.path)
            if [ENOTDIR, ELOOP].contains(error.code) { return false }
            throw Failure(error)
        }
    }

    private static func otherVolume(
        _ place: SitePlace, _ volume: VolumeID, _ reason: String
    ) -> Failure {
        Failure(
            "storage.otherVolume",
            "\(place.path) is not on the volume of the site: \(reason). It may not be mounted")
    }
}
