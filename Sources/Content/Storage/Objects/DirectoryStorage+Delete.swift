internal import FileSystem
internal import Glibc
package import Model

/// Result of the deletion of a key.
package enum Deletion: Sendable, Hashable {
    case deleted
    /// Nothing had the key.
    case absent
    case failed(Failure)
}

extension DirectoryStorage {
    /// Deletes the objects of some keys, and directories that are empty afterwards. Returns one
    /// result per key, in order.
    ///
    /// A key that leads through a symlink, or to anything but a regular file, is not deleted:
    /// `storage.pathRefused` or `storage.pathConflict`.
    ///
    /// - Parameters:
    /// - lease, job: Name the file while it is decided whether it goes.
    /// - isOurs: Returns true while the caller may delete. Called before each file loses its key,
    ///   and again just after. If the second answer is false, the file gets its key back, and the
    ///   result is `worker.leaseLost`.
    package func delete(
        _ keys: [String], lease: LeaseID, job: JobID, isOurs: () -> Bool
    ) throws(Failure) -> [Deletion] {
        let site = try verifiedDirectories()
        let name = PrivateName.temporary(lease: lease, job: job)
        var batch = DeletedBatch(site: site, temporaryName: name)
        let deletions = keys.map { batch.delete($0, isOurs: isOurs) }
        batch.removeEmptyDirectories()
        if durability != .none {
            try asFailure { () throws(SystemError) in try batch.sync() }
        }
        return deletions
    }
}

/// The deletions of one call.
private struct DeletedBatch {
    let site: SiteDirectories
    let temporaryName: String
    private var directories: [String: FileDescriptor] = [:]

    init(site: SiteDirectories, temporaryName: String) {
        self.site = site
        self.temporaryName = temporaryName
    }

    mutating func delete(_ path: String, isOurs: () -> Bool) -> Deletion {
        do throws(Failure) {
            let key = try ObjectKey(path)
            do throws(SystemError) {
                return try delete(key, isOurs)
            } catch {
                switch error.code {
                // A directory on the way may have been removed with its last file.
                case ENOENT, ENOTDIR: return .absent
                default: throw Failure(error)
                }
            }
        } catch {
            return .failed(error)
        }
    }

    private mutating func delete(_ key: ObjectKey, _ isOurs: () -> Bool) throws(SystemError)
        -> Deletion
    {
        let directory = try open(key.directory)
        guard try directory.status(of: key.name).kind == .regular else {
            return .failed(
                Failure(
                    .storagePathConflict,
                    "\(Redaction.path(key.path)) is not a regular file and was not deleted"))
        }
        let lost = Deletion.failed(
            Failure(.workerLeaseLost, "the lease is lost; \(Redaction.path(key.path)) stays"))
        guard isOurs() else { return lost }
        // A suspended owner must not delete the file of its successor: the file is only moved until
        // the lease has been checked once more.
        try directory.rename(key.name, to: site.temporary, named: temporaryName)
        guard isOurs() else {
            try? site.temporary.renameWithoutReplacing(
                temporaryName, to: directory, named: key.name)
            return lost
        }
        try site.temporary.unlink(temporaryName)
        return .deleted
    }

    private mutating func open(_ path: String) throws(SystemError) -> FileDescriptor {
        if let known = directories[path] { return known }
        let opened = try site.root.openDirectory(path.isEmpty ? "." : path)
        directories[path] = opened
        return opened
    }

    /// Removes the directories whose last entry is gone, and their parents likewise. One that gets a
    /// new entry meanwhile stays.
    mutating func removeEmptyDirectories() {
        for path in directories.keys.sorted(by: { $0.utf8.count > $1.utf8.count }) {
            var components = pathComponents(of: path).map(String.init)
            while let name = components.popLast() {
                let parent = components.joined(separator: "/")
                guard let directory = try? open(parent),
                    (try? directory.removeDirectory(named: name)) != nil
                else { break }
                directories[path] = nil
            }
        }
    }

    func sync() throws(SystemError) {
        for directory in directories.values { try directory.sync() }
    }
}
