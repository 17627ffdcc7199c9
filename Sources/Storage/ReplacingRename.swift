internal import FileSystem
internal import Glibc

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

    /// False when the object is not ours (any more); the key is then as it was.
    func run(isOurs: () -> Bool) throws(SystemError) -> Bool {
        // Somebody else may put a file there, or take it away, between two of the steps.
        for _ in 1...Self.mostTries {
            guard isOurs() else { return false }
            do throws(SystemError) {
                try object.site.temporary.renameWithoutReplacing(
                    object.temporaryName, to: directory, named: name)
                return true
            } catch {
                if Self.isUnsupported(error) { break }
                guard error.code == EEXIST else { throw error }
            }
            do throws(SystemError) {
                // Of a directory, the plain rename says what is wrong.
                if try directory.status(of: name).kind == .directory { break }
                try object.site.temporary.exchange(
                    object.temporaryName, with: directory, named: name)
            } catch {
                if Self.isUnsupported(error) { break }
                guard error.code == ENOENT else { throw error }
                continue
            }
            let isKept = isOurs()
            if !isKept { try putBack() }
            // What stood there before, or our own. What is left behind is swept later.
            try? object.site.temporary.unlink(object.temporaryName)
            return isKept
        }
        guard isOurs() else { return false }
        try object.site.temporary.rename(object.temporaryName, to: directory, named: name)
        return true
    }

    private static let mostTries = 4

    /// Unless a third one has replaced ours by now.
    private func putBack() throws(SystemError) {
        let there = try directory.status(of: name).identity
        guard try object.descriptor.status().identity == there else { return }
        try object.site.temporary.exchange(object.temporaryName, with: directory, named: name)
    }

    private static func isUnsupported(_ error: SystemError) -> Bool {
        [EINVAL, ENOSYS, EOPNOTSUPP].contains(error.code)
    }
}
