internal import FileSystem
internal import Glibc
internal import Model

/// Gives an object its final key, so that a suspended owner never removes the file of its
/// successor.
///
/// No file system has a conditional rename. So the old file is kept until the lease has been
/// checked once more: the two files are exchanged (renameat2(2), RENAME_EXCHANGE), and exchanged
/// back if the lease was lost. A plain rename is used if the file system cannot exchange, such as
/// NFS, or if there is no old file. A later owner then replaces the file.
struct ReplacingRename {
    let object: PendingObject
    let directory: FileDescriptor
    let name: String

    private var temporary: FileDescriptor { object.site.temporary }

    /// Renames the object. Returns false if it is not (or no longer) ours; the key is then
    /// unchanged.
    ///
    /// Throws the error of a system call. If another's file then has the temporary name, nothing
    /// removes it.
    func run(isOurs: () -> Bool) throws(SystemError) -> Bool {
        // Another process may create or remove that file between two of the steps.
        for _ in 1...Self.maxTries {
            guard isOurs() else { return false }
            do throws(SystemError) {
                try temporary.renameWithoutReplacing(
                    object.temporaryName, to: directory, named: name)
                return true
            } catch {
                if Self.isUnsupported(error) { break }
                guard error.code == EEXIST else { throw error }
            }
            do throws(SystemError) {
                // For a directory, the plain rename reports the error.
                if try directory.status(of: name).kind == .directory { break }
                try exchange()
            } catch {
                if Self.isUnsupported(error) { break }
                guard error.code == ENOENT else { throw error }
                continue
            }
            // From now on the temporary name is another's file, which must not be removed without a
            // check.
            object.disown()
            let isKept = isOurs()
            if !isKept, try !putBack() { return false }
            // The previous file, or our own. Remaining files are swept later.
            try? temporary.unlink(object.temporaryName)
            return isKept
        }
        guard isOurs() else { return false }
        try temporary.rename(object.temporaryName, to: directory, named: name)
        return true
    }

    private static let maxTries = 4

    private func exchange() throws(SystemError) {
        try temporary.exchange(object.temporaryName, with: directory, named: name)
    }

    private static func isUnsupported(_ error: SystemError) -> Bool {
        [EINVAL, ENOSYS, EOPNOTSUPP].contains(error.code)
    }
}

/// Restoring the replaced file.
extension ReplacingRename {
    /// Returns true if the file under the temporary name is obsolete: it is ours, or a successor
    /// has replaced it. Returns false if this is unknown: the process that has ours may still
    /// restore it, and is itself suspended.
    private func putBack() throws(SystemError) -> Bool {
        let ours = try object.descriptor.status().identity
        for _ in 1...Self.maxLooks {
            if try temporary.status(of: object.temporaryName).identity == ours { return true }
            if try standsUnderKey(ours) {
                try exchange(for: ours)
            } else if try object.descriptor.status().links == 0 {
                // The process that replaced ours has kept its own file, which is newer than the one
                // we replaced.
                return true
            } else {
                // Another process is between two of its steps. Nothing signals its end: inotify does
                // not see changes by other hosts of a network file system. The thread belongs to
                // storage and may block, for at most a fifth of a second.
                usleep(1_000)
            }
        }
        return false
    }

    /// Maximum number of checks, a millisecond apart.
    private static let maxLooks = 200

    private func standsUnderKey(_ file: FileStatus.Identity) throws(SystemError) -> Bool {
        do throws(SystemError) {
            return try directory.status(of: name).identity == file
        } catch {
            if error.code == ENOENT { return false }
            throw error
        }
    }

    /// Exchanges our file with the one under the temporary name. If a third file was there by then,
    /// it is restored in turn, as long as others interfere.
    private func exchange(for ours: FileStatus.Identity) throws(SystemError) {
        var expected = ours
        while true {
            let given = try temporary.status(of: object.temporaryName).identity
            try exchangeInSpiteOfErrors()
            let taken = try temporary.status(of: object.temporaryName).identity
            if taken == expected || taken == ours { return }
            expected = given
        }
    }

    /// Exchanges the files with retries, because another's file depends on it. Nothing signals when
    /// the file system works again; the thread belongs to storage and may block.
    private func exchangeInSpiteOfErrors() throws(SystemError) {
        for _ in 1..<Self.maxTries {
            do throws(SystemError) { return try exchange() } catch { usleep(1_000) }
        }
        try exchange()
    }
}
