/// The volume of a site, as its cluster recorded it.
package struct SiteVolume: Hashable, Sendable {
    package var id: VolumeID
    /// The last file system of the site; nil for one without an identity: then only the mark
    /// decides.
    package var fileSystem: FileSystemID?

    package init(id: VolumeID, fileSystem: FileSystemID? = nil) {
        self.id = id
        self.fileSystem = fileSystem
    }
}
