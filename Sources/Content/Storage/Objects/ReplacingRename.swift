internal import FileSystem
internal import Glibc
internal import Model

/// Gives an object its final key, so that an owner who was frozen in the middle takes nothing away
/// from whoever came after him.
///
/// No file system has a rename that asks a question first. So the old file is kept until the question
/// was asked once more: the two change places (renameat2(2), RENAME_EXCHANGE), and do so again when
/// the answer has changed. Where the file system cannot exchange, as NFS cannot, or where nothing
/// stands in the way, the rename is a plain one: what is put where nothing was, the next owner
/// replaces.
struct ReplacingRename {
    let object: PendingObject
    let directory: FileDescriptor
    let name: String

    private var temporary: FileDescriptor { object.site.temporary }

    /// False when the object is not ours (any more); the key is then as it was.
    ///
    /// Throws what a call said. Where that leaves another's file under the temporary name, nothing
    /// removes it.
    func run(isOurs: () -> Bool) throws(SystemError) -> Bool {
        // Somebody else may put a file there, or take it away, between two of the steps.
        for _ in 1...Self.mostTries {
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
                // Of a directory, the plain rename says what is wrong.
                if try directory.status(of: name).kind == .directory { break }
                try exchange()
            } catch {
                if Self.isUnsupported(error) { break }
                guard error.code == ENOENT else { throw error }
                continue
            }
            // From now on the temporary name is another's, whom nothing may remove unasked.
            object.disown()
            let isKept = isOurs()
            if !isKept, try !putBack() { return false }
            // What stood there before, or our own. What is left behind is swept later.
            try? temporary.unlink(object.temporaryName)
            return isKept
        }
        guard isOurs() else { return false }
        try temporary.rename(object.temporaryName, to: directory, named: name)
        return true
    }

    private static let mostTries = 4

    private func exchange() throws(SystemError) {
        try temporary.exchange(object.temporaryName, with: directory, named: name)
    }

    private static func isUnsupported(_ error: SystemError) -> Bool {
        [EINVAL, ENOSYS, EOPNOTSUPP].contains(error.code)
    }
}

/// Putting back what was taken away.
extension ReplacingRename {
    /// True when the file under the temporary name is nobody's any more: ours, or one that somebody
    /// who came after us has replaced. False when that is not known: whoever has ours may put it
    /// back yet, and is frozen himself.
    private func putBack() throws(SystemError) -> Bool {
        let ours = try object.descriptor.status().identity
        for _ in 1...Self.mostLooks {
            if try temporary.status(of: object.temporaryName).identity == ours { return true }
            if try standsUnderKey(ours) {
                try exchange(for: ours)
            } else if try object.descriptor.status().links == 0 {
                // Whoever replaced ours has kept his: what we took away is older than that.
                return true
            } else {
                // Another process is between two of its steps, and nothing tells when it is done.
                // The thread is one of storage's, which may block; a fifth of a second at most.
                usleep(1_000)
            }
        }
        return false
    }

    /// A thousandth of a second apart.
    private static let mostLooks = 200

    private func standsUnderKey(_ file: FileStatus.Identity) throws(SystemError) -> Bool {
        do throws(SystemError) {
            return try directory.status(of: name).identity == file
        } catch {
            if error.code == ENOENT { return false }
            throw error
        }
    }

    /// Takes our file back for what is under the temporary name. Where another one stood there by then,
    /// that one is put back in turn, for as long as others come in between.
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

    /// One that fails is worth another: another's file hangs on it. Nothing tells when the file system can do
    /// it again; the thread is one of storage's, which may block.
    private func exchangeInSpiteOfErrors() throws(SystemError) {
        for _ in 1..<Self.mostTries {
            do throws(SystemError) { return try exchange() } catch { usleep(1_000) }
        }
        try exchange()
    }
}
