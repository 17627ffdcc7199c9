package import Digest
internal import FileSystem
internal import Glibc
package import Model
import Synchronization

extension DirectoryStorage {
    /// Turns the file of an object into a multipart file and returns the object for its first part.
    /// Less than `firstPart` bytes must have been written, and the old object ends. No other caller
    /// may know `id` yet.
    ///
    /// The file keeps its reserved space for the whole. `PendingObject.catchUp` reads the written
    /// bytes for the digest of the whole.
    package func makeMultipart(
        of object: PendingObject, id: MultipartID, firstPart: Int64, totalBytes: Int64
    ) throws(Failure) -> PendingObject {
        let written = try asFailure { () throws(SystemError) in
            let written = try object.descriptor.status().bytes
            try object.descriptor.truncate(to: totalBytes)
            return written
        }
        guard object.settle() else { throw Failure(.workerInternal, "the object has ended") }
        do throws(SystemError) {
            try object.site.temporary.rename(
                object.temporaryName, to: object.site.multipart, named: id.description)
        } catch {
            try? object.site.temporary.unlink(object.temporaryName)
            throw Failure(error)
        }
        // It keeps the ordinal of its descriptor, which has reported every error since.
        let moved = PendingObject(
            destination: .multipart(id), descriptor: object.descriptor, site: object.site,
            temporaryName: id.description, ordinal: object.ordinal)
        // From now on it can resume as a part only.
        object.record.remove()
        moved.space.markReserved()
        if let chain = orderedDigests.chain(id, at: 0),
            chain.begin(offset: 0, length: firstPart)
        {
            chain.fallBehind(bytes: written)
            moved.follow(chain, offset: 0, length: firstPart)
        }
        return moved
    }

    /// Removes an abandoned multipart file and frees its space. Best effort: remaining files are
    /// swept.
    package func removeMultipart(id: MultipartID) {
        guard let site = try? verifiedDirectories() else { return }
        try? site.multipart.unlink(id.description)
        orderedDigests.remove(id)
    }

    /// Checks a multipart file against its parts and gives it its final key.
    ///
    /// Reads the file once, unless its ranges were written here in order. Throws
    /// `integrity.multipartMismatch` if the parts do not cover the file, or if the bytes of one
    /// differ from its record. The multipart file then stays, so that the part can be fetched
    /// again. A file that already has its final key is checked there and succeeds; its report was
    /// lost after the rename.
    ///
    /// - Parameters:
    /// - expectedSHA256: The whole file's digest from a list, 64 lower-case hex digits. Another
    ///   digest is `integrity.digestMismatch`, and the file gets no final key.
    /// - digests: Further digests from the list, checked in the same way.
    /// - stated: Digests that the origin states of the whole, checked in the same way.
    /// - isOurs: Called just before the rename; `worker.leaseLost` if it returns false.
    package func promoteMultipart(
        _ multipart: MultipartFile, key: String, expectedSHA256: String? = nil,
        digests: [ExpectedDigest] = [], stated: [ExpectedDigest] = [],
        isOurs: () -> Bool = { true }
    ) throws(Failure) -> StoredObject {
        let key = try ObjectKey(key)
        let parts = try CheckedPart.of(multipart)
        let site = try verifiedDirectories()
        let file: FileDescriptor
        do throws(SystemError) {
            file = try site.multipart.open(multipart.id.description, O_RDONLY | O_NONBLOCK)
        } catch {
            guard error.code == ENOENT else { throw Failure(error) }
            return try confirmPromoted(multipart, parts: parts, key: key, in: site)
        }
        let others = Set((digests + stated).map(\.algorithm)).subtracting([.sha256])
        let computed: ComputedDigests
        if others.isEmpty, let written = written(multipart) {
            computed = written
        } else {
            computed = try Self.hash(file, parts: parts, multipart.totalBytes, others)
        }
        if let expectedSHA256, expectedSHA256 != computed.stored.sha256 {
            throw Failure(
                .integrityDigestMismatch,
                "SHA-256 is \(computed.stored.sha256); the list states \(expectedSHA256)")
        }
        try computed.check(digests, by: "the list")
        try computed.check(stated, by: "the origin")
        try promote(file, id: multipart.id, key: key, in: site, isOurs)
        orderedDigests.remove(multipart.id)
        return computed.stored
    }

    /// Returns the digest computed while the ranges were written here in order; nil if unknown.
    private func written(_ multipart: MultipartFile) -> ComputedDigests? {
        let chain = orderedDigests[multipart.id]
        guard let whole = chain?.whole(of: multipart.totalBytes, parts: multipart.parts) else {
            return nil
        }
        return ComputedDigests(totalBytes: multipart.totalBytes, digests: [ExpectedDigest(whole)])
    }

    private func promote(
        _ file: FileDescriptor, id: MultipartID, key: ObjectKey, in site: SiteDirectories,
        _ isOurs: () -> Bool
    ) throws(Failure) {
        var parents = ParentDirectories(root: site.root)
        let directory = try parents.open(key.directory).get()
        let changed = durability == .none ? [] : parents.changed
        do throws(Failure) {
            try sync { () throws(SystemError) in try file.syncData() }
        } catch {
            // Another attempt must not find data that the disk has dropped.
            try? site.multipart.unlink(id.description)
            throw error
        }
        guard isOurs() else {
            throw Failure(
                .workerLeaseLost, "the lease is lost; \(Redaction.path(key.path)) is unchanged")
        }
        try asFailure { () throws(SystemError) in
            try site.multipart.rename(id.description, to: directory, named: key.name)
        }
        try sync { () throws(SystemError) in
            for parent in changed { try parent.sync() }
            try directory.sync()
        }
    }

    /// Runs a barrier, unless the site disables it. A failed one is never repeated: the kernel has
    /// dropped the data by then and would report success.
    private func sync(_ barrier: () throws(SystemError) -> Void) throws(Failure) {
        guard durability != .none else { return }
        do throws(SystemError) {
            try barrier()
        } catch {
            throw Failure(.storageSyncFailed, Failure(error).message)
        }
    }

    /// Returns the file that an earlier attempt promoted, and makes it durable in case that attempt
    /// died before its end.
    private func confirmPromoted(
        _ multipart: MultipartFile, parts: [CheckedPart], key: ObjectKey, in site: SiteDirectories
    ) throws(Failure) -> StoredObject {
        guard let file = try openRegular(key.path, in: site.root, bytes: multipart.totalBytes)
        else {
            throw Self.mismatch("neither the multipart file nor the whole file is at the site")
        }
        let stored = try Self.hash(file, parts: parts, multipart.totalBytes).stored
        do throws(Failure) {
            try makeDurable(file, key: key, in: site)
        } catch {
            throw Failure(.storageSyncFailed, error.message)
        }
        return stored
    }

    // MARK: - Checking

    private static func hash(
        _ file: FileDescriptor, parts: [CheckedPart], _ totalBytes: Int64,
        _ algorithms: Set<DigestAlgorithm> = []
    ) throws(Failure) -> ComputedDigests {
        let status = try asFailure { () throws(SystemError) in try file.status() }
        guard status.kind == .regular, status.bytes == totalBytes else {
            throw mismatch("the file has \(status.bytes) of \(totalBytes) bytes")
        }
        var digests = DigestSet(algorithms)
        digests.beginParts()
        for part in parts {
            let isThere = try asFailure { () throws(SystemError) in
                try file.forEachBlock(offset: part.offset, length: part.length) {
                    digests.update($0)
                }
            }
            guard isThere, digests.finishPart() == part.digest else {
                throw mismatch("the bytes of the part at \(part.offset) differ from the record")
            }
        }
        let computed = digests.finish()
        return ComputedDigests(
            totalBytes: totalBytes, digests: [ExpectedDigest(computed.sha256)] + computed.others)
    }

    private static func mismatch(_ message: String) -> Failure {
        Failure(.integrityMultipartMismatch, message)
    }
}
