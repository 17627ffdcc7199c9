internal import FileSystem
package import Model

// Two sites may lead to one directory by a symlink or a bind mount. Its marks name the sites that
// may be meant; the directories themselves decide, because a copy has the marks of its original.

extension DirectoryStorage {
    /// Returns the marks in a site's directory and in those that contain it. Creates nothing. Empty
    /// for a site that is missing, or is no directory.
    package static func marks(of site: StorageURL, within roots: SiteRoots) -> [VolumeID] {
        guard case .directory = site.location, let location = try? roots.location(of: site) else {
            return []
        }
        return VolumeMark.all(location)
    }

    /// Returns true if the directory of `site` is that of `other`, or lies in it, whatever the paths.
    /// Also true if `other` is outside the roots, so that this cannot be decided here; false if it is
    /// missing.
    package static func isShared(
        _ site: StorageURL, with other: StorageURL, within roots: SiteRoots
    ) -> Bool {
        guard let theirs = try? roots.location(of: other) else { return true }
        guard let own = try? roots.location(of: site).openExisting(),
            let identity = try? theirs.openExisting()?.status().identity
        else { return false }
        return ([own] + VolumeMark.parents(of: own)).contains {
            (try? $0.status())?.identity == identity
        }
    }
}
