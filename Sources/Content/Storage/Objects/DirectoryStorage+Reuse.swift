package import Digest
internal import FileSystem
internal import Glibc
package import Model

extension DirectoryStorage {
    /// Returns true if the file under `key` has the expected length and SHA-256 and is durable, so
    /// that it need not be fetched.
    ///
    /// Only a regular file reached without a symlink counts. On any error it returns false; the
    /// commit of a fetched object will report the reason. Reads the whole file.
    package func reuse(key: String, expected: StoredObject) -> Bool {
        guard let digest = SHA256Digest(hex: expected.sha256) else { return false }
        return reuse(key: key, bytes: expected.bytes, digests: [ExpectedDigest(digest)]) != nil
    }

    /// Returns the stored object under `key` if it can be reused, else nil; any length matches if
    /// `bytes` is nil. All digests must match. At least one is required, and a CRC alone requires a
    /// known length.
    package func reuse(key: String, bytes: Int64?, digests: [ExpectedDigest]) -> StoredObject? {
        guard digests.contains(where: { !$0.algorithm.isChecksum || bytes != nil }) else {
            return nil
        }
        do throws(Failure) {
            let key = try ObjectKey(key)
            let site = try verifiedDirectories()
            guard let file = try openRegular(key.path, in: site.root, bytes: bytes) else {
                return nil
            }
            var hashers = DigestSet(digests.map(\.algorithm))
            let length = try asFailure { () throws(SystemError) in try file.status().bytes }
            let isWhole = try asFailure { () throws(SystemError) in
                try file.forEachBlock(offset: 0, length: length) { hashers.update($0) }
            }
            let computed = hashers.finish()
            let given = Set(computed.others + [ExpectedDigest(computed.sha256)])
            guard isWhole, given.isSuperset(of: digests) else { return nil }
            try makeDurable(file, key: key, in: site)
            return StoredObject(bytes: length, sha256: computed.sha256.description)
        } catch {
            return nil
        }
    }

    /// Describes the file under `key`, which another tool stored, and makes it durable; any length matches
    /// if `bytes` is nil.
    ///
    /// Reads the whole file. Returns nil if there is none, if it changes meanwhile, if its download is not
    /// complete, and on any error.
    package func foundFile(key: String, bytes: Int64?) -> FoundFile? {
        do throws(Failure) {
            let key = try ObjectKey(key)
            let site = try verifiedDirectories()
            guard let file = try openRegular(key.path, in: site.root, bytes: bytes),
                !ControlFile.isBeside(key.path, in: site.root)
            else { return nil }
            var hashers = DigestSet()
            let (before, after) = try asFailure { () throws(SystemError) in
                let before = try file.status()
                let isWhole = try file.forEachBlock(offset: 0, length: before.bytes) {
                    hashers.update($0)
                }
                return (before, isWhole ? try file.status() : nil)
            }
            guard let after, after.bytes == before.bytes, after.modifiedSeconds >= 1,
                after.modifiedSeconds == before.modifiedSeconds
            else { return nil }
            try makeDurable(file, key: key, in: site)
            return FoundFile(
                bytes: after.bytes, sha256: hashers.finish().sha256.description,
                modified: Int64(after.modifiedSeconds))
        } catch {
            return nil
        }
    }

    /// Returns true if a regular file of that length has the key. Does not read it.
    package func isStored(key: String, bytes: Int64) -> Bool {
        do throws(Failure) {
            let key = try ObjectKey(key)
            return try openRegular(key.path, in: verifiedDirectories().root, bytes: bytes) != nil
        } catch {
            return false
        }
    }

    /// Opens a regular file for reading, of exactly `bytes` if given; nil if there is none of that
    /// name.
    func openRegular(
        _ path: String, in directory: FileDescriptor, bytes: Int64?
    ) throws(Failure) -> FileDescriptor? {
        do throws(SystemError) {
            // Not blocking: a FIFO of that name would otherwise wait for a writer.
            let file = try directory.open(path, O_RDONLY | O_NONBLOCK)
            let status = try file.status()
            return status.kind == .regular && status.bytes == bytes ?? status.bytes ? file : nil
        } catch {
            if [ENOENT, ENOTDIR, ELOOP].contains(error.code) { return nil }
            throw Failure(error)
        }
    }

    /// Makes a file durable, because its writer may have died before its name was.
    func makeDurable(
        _ file: FileDescriptor, key: ObjectKey, in site: SiteDirectories
    ) throws(Failure) {
        guard durability != .none else { return }
        try asFailure { () throws(SystemError) in
            try file.syncData()
            try site.root.openDirectory(key.directory.isEmpty ? "." : key.directory).sync()
        }
    }
}

extension FileDescriptor {
    /// Reads a range in order, 1 MiB at a time; returns false if the file ends before the range.
    func forEachBlock(
        offset: Int64, length: Int64, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(SystemError) -> Bool {
        let blockBytes = Int(min(Int64(1 << 20), max(length, 1)))
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockBytes, alignment: 4096)
        defer { block.deallocate() }
        var position = offset
        let end = offset + length
        while position < end {
            let wanted = Int(min(Int64(block.count), end - position))
            let count = try read(
                into: UnsafeMutableRawBufferPointer(rebasing: block[..<wanted]), at: position)
            if count == 0 { return false }
            body(UnsafeRawBufferPointer(rebasing: block[..<count]))
            position += Int64(count)
        }
        return true
    }
}
