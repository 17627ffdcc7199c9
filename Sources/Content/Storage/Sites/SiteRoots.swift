internal import FileSystem
internal import Glibc
package import Model

/// The directories that a worker may write to, independent of the coordinator's requests.
///
/// A site is the directory of a root, or lies below it. Its directory is opened from the root's, so
/// that neither `..` nor a symlink below the root leads outside. A value; safe from any thread.
package struct SiteRoots: Sendable {
    private struct Root: Sendable {
        /// The operator's name, and the one without symlinks: sites may use either.
        let names: [StorageURL]
        /// Nil for a bucket or cache.
        let directory: RootDirectory?
    }

    /// Nil for any site.
    private let roots: [Root]?

    private init(_ roots: [Root]?) { self.roots = roots }

    /// Any site: for a private cluster, whose own user names the sites.
    package static let anySite = SiteRoots(nil)

    /// Creates roots from existing directories with absolute paths, whose symlinks are followed
    /// once, now, and from URLs of buckets and caches.
    ///
    /// Throws `input.destination` for a path that is not absolute, or leads to no directory or to
    /// `/`. Also throws it for more than `WireLimits.rootsPerWorker` names.
    package init(existing paths: [String]) throws(Failure) {
        roots = try paths.map { path throws(Failure) in try Self.root(path) }
        guard (urls ?? []).count <= WireLimits.rootsPerWorker else {
            throw Failure(
                .inputDestination,
                "\(paths.count) roots were given; allowed: \(WireLimits.rootsPerWorker) in total, "
                    + "with the resolved names of symlinks.")
        }
    }

    /// Creates a single root, whose directory is created with its parents at the first write.
    package init(making url: StorageURL) {
        var directory: RootDirectory?
        if case .directory(let path) = url.location {
            directory = RootDirectory(path: path, isMade: true)
        }
        roots = [Root(names: [url], directory: directory)]
    }

    private static func root(_ path: String) throws(Failure) -> Root {
        func refuse(_ reason: String) -> Failure {
            Failure(.inputDestination, "\(path.prefix(200).debugDescription) \(reason)")
        }
        if path.hasPrefix("s3:") || path.hasPrefix("cache:") {
            do throws(Failure) {
                return Root(names: [try StorageURL(path)], directory: nil)
            } catch {
                throw refuse("cannot be a root: \(error.message)")
            }
        }
        guard path.hasPrefix("/") else { throw refuse("is not an absolute path") }
        guard let found = realpath(path, nil) else {
            throw refuse("cannot be a root: \(SystemError.last("realpath").reason)")
        }
        defer { free(found) }
        guard let text = String(validatingCString: found),
            let resolved = try? StorageURL(directory: text)
        else { throw refuse("leads to a directory whose name is not UTF-8") }
        guard resolved.path != "/" else { throw refuse("is the whole file system") }
        guard (try? FileStatus.of(text).kind) == .directory else {
            throw refuse("is not a directory")
        }
        let named = try? StorageURL(directory: path)
        return Root(
            names: named == resolved ? [resolved] : [named, resolved].compactMap(\.self),
            directory: RootDirectory(path: resolved.path, isMade: false))
    }

    /// Paths of roots that this user may not write to. Sites below them may still be writable: each
    /// is checked when it is opened.
    package var unwritable: [String] {
        (roots ?? []).compactMap(\.directory?.path).filter {
            faccessat(AT_FDCWD, $0, W_OK | X_OK, AT_EACCESS) != 0 && errno != EROFS
        }
    }

    /// Names for coordinators; nil for any site.
    package var urls: [String]? {
        roots.map { roots in
            var known: Set<String> = []
            return roots.flatMap(\.names).map(\.description).filter { known.insert($0).inserted }
        }
    }

    /// Throws `storage.outsideRoots` for a site outside of the roots. Checks names only.
    package func check(_ site: StorageURL) throws(Failure) {
        if case .directory = site.location { return _ = try location(of: site) }
        _ = try root(of: site)
    }

    func location(of site: StorageURL) throws(Failure) -> SiteLocation {
        guard let (root, name) = try root(of: site), let directory = root.directory else {
            return SiteLocation(root: RootDirectory(path: site.path, isMade: true), below: [])
        }
        let below = pathComponents(of: site.path).dropFirst(pathComponents(of: name.path).count)
        return SiteLocation(root: directory, below: below.map(String.init))
    }

    /// Returns the root that a site is in, by the name that it uses; nil if any site is allowed.
    private func root(of site: StorageURL) throws(Failure) -> (Root, StorageURL)? {
        guard let roots else { return nil }
        for root in roots {
            if let name = root.names.first(where: { site.isWithin($0) }) { return (root, name) }
        }
        throw Failure(
            .storageOutsideRoots,
            "\(site) lies outside of this worker's roots: "
                + (urls ?? []).joined(separator: ", "))
    }
}

/// A root's directory.
struct RootDirectory: Sendable {
    /// Path; without symlinks unless `isMade`.
    let path: String
    /// True if it is created with its parents, through symlinks as well. Otherwise it must exist,
    /// without symlinks on its path.
    let isMade: Bool

    /// Opens the directory, or the closest existing one above a directory that may be created.
    func openClosest() throws(SystemError) -> (directory: FileDescriptor, isItself: Bool) {
        var components = pathComponents(of: path)[...]
        while true {
            do throws(SystemError) {
                let way = "/" + components.joined(separator: "/")
                let found = try isMade ? FileDescriptor.open(way, O_RDONLY | O_DIRECTORY) : open()
                return (found, components.count == pathComponents(of: path).count)
            } catch {
                guard isMade, error.code == ENOENT, components.popLast() != nil else { throw error }
            }
        }
    }

    /// Opens the directory.
    ///
    /// - Parameter makes: False creates nothing, even if `isMade`.
    func open(makes: Bool = true) throws(SystemError) -> FileDescriptor {
        guard isMade else {
            return try FileDescriptor.open("/", O_RDONLY | O_DIRECTORY)
                .openDirectory(String(path.dropFirst()))
        }
        guard makes else { return try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY) }
        if let root = try? FileDescriptor.open(path, O_RDONLY | O_DIRECTORY) { return root }
        var parent = try FileDescriptor.open("/", O_RDONLY | O_DIRECTORY)
        var made = ""
        for component in pathComponents(of: path) {
            made += "/" + component
            do throws(SystemError) {
                parent = try FileDescriptor.open(made, O_RDONLY | O_DIRECTORY)
            } catch {
                if error.code != ENOENT { throw error }
                let isNew = try parent.makeDirectory(named: String(component))
                if isNew { try parent.sync() }
                parent = try FileDescriptor.open(made, O_RDONLY | O_DIRECTORY)
            }
        }
        return parent
    }
}

/// A site's directory: that of a root, or one below it.
struct SiteLocation: Sendable {
    let root: RootDirectory
    /// Components from the root to the site; empty for the root itself.
    let below: [String]

    /// Path of the site, used only to detect changes.
    var path: String { ([root.path] + below).joined(separator: "/") }

    /// Opens the site's directory; creates it below the root if missing.
    ///
    /// Throws `storage.outsideRoots` if a symlink leads outside of the root, or is in the root's
    /// own path.
    func open() throws(Failure) -> FileDescriptor {
        do throws(SystemError) {
            let opened = try root.open()
            return below.isEmpty ? opened : try openOrMake(in: opened)
        } catch {
            throw failure(error)
        }
    }

    /// Opens the site's directory without creating it; nil if it is missing. Throws as `open`.
    func openExisting() throws(Failure) -> FileDescriptor? {
        do throws(SystemError) {
            let opened = try root.open(makes: false)
            guard !below.isEmpty else { return opened }
            return try Self.open(below.joined(separator: "/"), in: opened)
        } catch {
            if error.code == ENOENT { return nil }
            throw failure(error)
        }
    }

    /// Returns the file system of the site's directory, or of the parent where it would be created.
    /// Nil if unknown, for example after a dangling symlink.
    func fileSystem() -> FileSystemID? {
        guard danglingLink() == nil else { return nil }
        guard var (closest, isRoot) = try? root.openClosest() else { return nil }
        let top = closest
        var way = ""
        for component in below where isRoot {
            way += way.isEmpty ? component : "/" + component
            do throws(SystemError) {
                closest = try Self.open(way, in: top)
            } catch {
                guard error.code == ENOENT else { return nil }
                isRoot = false
            }
        }
        return closest.fileSystemID
    }

    private func failure(_ error: SystemError) -> Failure {
        let isOfOperator = root.isMade && below.isEmpty
        guard !isOfOperator, [EXDEV, ELOOP].contains(error.code) else {
            return danglingLink() ?? Failure(error)
        }
        return Failure(
            .storageOutsideRoots,
            "\(path): a symlink on the path leads outside of the root \(root.path)")
    }

    private static func open(
        _ path: String, in root: FileDescriptor
    ) throws(SystemError) -> FileDescriptor {
        try root.open(path, O_RDONLY | O_DIRECTORY, resolution: .beneath)
    }

    /// Returns the failure for a dangling or circular symlink on the path; nil if there is none.
    private func danglingLink() -> Failure? {
        var way = ""
        for component in pathComponents(of: path) {
            way += "/" + component
            guard let above = try? FileDescriptor.openLocation("/" + directory(of: way)),
                let target = try? above.symlinkTarget(of: String(component))
            else { continue }
            do throws(SystemError) {
                _ = try FileStatus.of(way)
            } catch {
                return Failure(
                    .storagePathRefused,
                    "\(way) is a symlink to \(target): \(error.reason). Create the target, or remove it"
                )
            }
        }
        return nil
    }

    private func openOrMake(in root: FileDescriptor) throws(SystemError) -> FileDescriptor {
        func open(_ path: String) throws(SystemError) -> FileDescriptor {
            try Self.open(path, in: root)
        }
        do throws(SystemError) {
            return try open(below.joined(separator: "/"))
        } catch {
            if error.code != ENOENT { throw error }
        }
        var (parent, made) = (root, "")
        for component in below {
            made += made.isEmpty ? component : "/" + component
            do throws(SystemError) {
                parent = try open(made)
            } catch {
                if error.code != ENOENT { throw error }
                let isNew = try parent.makeDirectory(named: component)
                if isNew { try parent.sync() }
                do throws(SystemError) {
                    parent = try open(made)
                } catch {
                    guard error.code == ENOENT, !isNew else { throw error }
                    // A dangling symlink.
                    throw SystemError(code: EEXIST, operation: error.operation)
                }
            }
        }
        return parent
    }
}
