internal import Digest
internal import FileSystem
internal import Glibc
internal import Model

/// One attempt to take a partial body over.
struct PartialTaker {
    let storage: DirectoryStorage
    let site: SiteDirectories
    /// The record's name.
    let name: String
    let text: PartialRecordText
    let identity: PartialIdentity
    let attempt: ObjectAttempt
    /// Name of the attempt's temporary file.
    let ownName: String
    let algorithms: Set<DigestAlgorithm>
    /// Length of the part; nil for a whole object.
    var wantedBytes: Int64?

    /// Bytes that its file does not have, because the bucket has them.
    private var releasedBytes: Int64 { text.record.sent?.bytes ?? 0 }

    /// Returns digests that continue after the released bytes; nil if they cannot.
    private func beginDigests() -> DigestSet? {
        guard let sent = text.record.sent else { return DigestSet(algorithms) }
        guard algorithms.subtracting([.sha256]).isEmpty else { return nil }
        return DigestSet(resuming: sent.state)
    }

    private var restBytes: Int64 { (wantedBytes ?? text.record.totalBytes) - text.record.bytes }

    /// Name of the earlier attempt's temporary file.
    private var temporaryName: String {
        String(name.dropFirst(PartialIdentity.nameBytes + 1))
    }

    /// Age of the attempt that wrote the record, relative to the one that takes it over.
    enum Age {
        /// Earlier, at the same work: its lease has expired, even if it does not know.
        case earlier
        /// The same attempt, or one at other work that may still run.
        case unknown
        /// Later, at the same work: the one that takes over has lost its lease.
        case later
    }

    var age: Age {
        guard text.owner.asset == attempt.asset, temporaryName != ownName,
            let number = temporaryName.split(separator: "-").last.flatMap({ Int64($0) })
        else { return .unknown }
        return JobID(number) < attempt.job ? .earlier : .later
    }

    /// Takes the body over. Throws if there is no space for the rest; the record and its bytes then
    /// stay.
    func take(_ location: DirectoryStorage.PartialLocation) throws(Failure) -> PartialBody? {
        guard age != .later, isOfUse else { return nil }
        switch location {
        case .range(let multipart, let offset, let length, let totalBytes):
            return try takeRange(multipart, offset, length, totalBytes)
        case .key(let key): return try take(for: .key(try ObjectKey(key)))
        case .uploadedPart(let multipart, let offset, let length):
            var taker = self
            taker.wantedBytes = length
            return try taker.take(for: .uploadedPart(multipart, offset: offset))
        }
    }

    private func take(
        for destination: PendingObject.Destination
    ) throws(Failure) -> PartialBody? {
        if text.isClosed { return try rename(for: destination) }
        return age == .earlier ? try move(for: destination) : copy(for: destination)
    }

    /// True for the same URL, or for the same asset with a strong ETag. With that, the origin can
    /// be asked whether the object is still the same (RFC 9110, 13.1.5).
    private var isOfUse: Bool {
        name.hasPrefix(identity.exact)
            || text.owner.asset == attempt.asset && text.record.validator.hasPrefix("\"")
    }

    /// Returns true if the failure is only a present lack of space.
    private static func isOfSpace(_ failure: Failure) -> Bool {
        [.storageNoRoom, .storageFull].contains(failure.code)
    }

    /// Removes the old record, unless it belongs to other running work.
    func removeRecord() {
        guard text.isClosed || age == .earlier, temporaryName != ownName else { return }
        try? site.partial.unlink(name)
    }

    /// Removes the attempt's files. The bytes of a range stay, because their file is shared.
    func remove() {
        for suffix in ["", Self.emptiedSuffix] {
            try? site.temporary.unlink(temporaryName + suffix)
        }
        try? site.partial.unlink(name)
    }

    /// Opens a range, whose bytes stay in the shared file. The whole file is hashed once more
    /// before it gets its final key.
    private func takeRange(
        _ multipart: MultipartID, _ offset: Int64, _ length: Int64, _ totalBytes: Int64
    ) throws(Failure) -> PartialBody? {
        guard text.record.bytes < length else { return nil }
        let object: PendingObject
        do throws(Failure) {
            object = try storage.openMultipart(
                id: multipart, offset: offset, length: length, of: totalBytes)
        } catch {
            guard Self.isOfSpace(error) else { return nil }
            throw error
        }
        var digests = DigestSet(algorithms)
        guard hash(object.descriptor, at: offset, into: &digests) else {
            object.leave()
            return nil
        }
        return PartialBody(object: object, record: text.record, digests: digests)
    }

    private func rename(
        for destination: PendingObject.Destination
    ) throws(Failure) -> PartialBody? {
        try checkRoom()
        let object: PendingObject
        guard var digests = beginDigests() else {
            remove()
            return nil
        }
        do throws(Failure) {
            let own = ownName
            let file = try asFailure { () throws(SystemError) in
                try site.temporary.rename(temporaryName, to: site.temporary, named: own)
                let file = try site.temporary.open(own, O_RDWR | O_NONBLOCK)
                _ = file.tryLock()
                return file
            }
            object = PendingObject(
                destination: destination, descriptor: file, site: site, temporaryName: own)
            object.take(released: text.record.sent)
            // A dropped object removes its file.
            guard hash(file, at: 0, into: &digests) else {
                removeRecord()
                return nil
            }
            try asFailure { () throws(SystemError) in try file.truncate(to: text.record.bytes) }
        } catch {
            // Its file is gone: taken over by another attempt, or swept.
            removeRecord()
            return nil
        }
        guard try hasSpace(for: object) else { return nil }
        return PartialBody(object: object, record: text.record, digests: digests)
    }

    /// Throws if there is no space for the rest; nothing was changed then.
    private func checkRoom() throws(Failure) {
        do throws(Failure) {
            try site.bounds.check(restBytes, in: site)
        } catch {
            if Self.isOfSpace(error) { throw error }
        }
    }

    /// Reserves the rest of an object. Without space for it, the object stays for the next attempt.
    private func hasSpace(for object: PendingObject) throws(Failure) -> Bool {
        do throws(Failure) {
            try DirectoryStorage.reserve(
                restBytes, at: text.record.bytes, of: object)
            return true
        } catch {
            guard Self.isOfSpace(error) else {
                removeRecord()
                return false
            }
            storage.keep(text.record, of: object, as: identity, by: attempt)
            removeRecord()
            throw error
        }
    }

    /// Copies the body of an attempt whose lease has expired. Each block frees its space for the
    /// next, because there may be no space for two copies.
    ///
    /// A suspended writer may continue to write to the old file, which does no harm, but must not
    /// give it its final key. So the file loses its name before its bytes move.
    private func move(
        for destination: PendingObject.Destination
    ) throws(Failure) -> PartialBody? {
        let (record, emptied) = ("\(identity.name)-\(ownName)", ownName + Self.emptiedSuffix)
        let file: FileDescriptor
        do throws(SystemError) {
            // From here on it belongs to this attempt, whenever that ends, and then to the next
            // one.
            try site.temporary.rename(temporaryName, to: site.temporary, named: ownName)
            try site.partial.rename(name, to: site.partial, named: record)
            file = try site.temporary.open(ownName, O_RDWR | O_NONBLOCK)
            _ = file.tryLock()
        } catch { return nil }
        file.giveBack(offset: text.record.bytes, length: restBytes)
        try checkRoom()
        guard (try? site.temporary.rename(ownName, to: site.temporary, named: emptied)) != nil
        else { return nil }
        let object: PendingObject
        do throws(Failure) {
            object = try storage.createTemporary(ownName, for: destination)
        } catch {
            return try giveUp(emptied, record, error)
        }
        object.take(released: text.record.sent)
        guard var digests = beginDigests() else {
            object.discard()
            return try giveUp(emptied, record, nil)
        }
        let end = copy(file, to: object, into: &digests, emptying: true)
        guard let end, digests.sha256SoFar() == text.record.sha256 else {
            return try giveUp(emptied, record, nil)
        }
        if let failure = end.failure {
            guard Self.isOfSpace(failure), end.bytes > releasedBytes else {
                object.discard()
                return try giveUp(emptied, record, failure)
            }
            // The copied bytes have left their old file, so only their start can be kept. The
            // remaining space is freed even if a suspended writer has the file open.
            try? file.truncate(to: 0)
            try? site.temporary.unlink(emptied)
            var start = text.record
            (start.bytes, start.sha256) = (end.bytes, end.sha256)
            storage.keep(start, of: object, as: identity, by: attempt)
            throw failure
        }
        try? site.temporary.unlink(emptied)
        guard try hasSpace(for: object) else {
            try? site.partial.unlink(record)
            return nil
        }
        return PartialBody(object: object, record: text.record, digests: digests)
    }

    /// Suffix of a file whose bytes are being moved to the file without it.
    private static let emptiedSuffix = ".old"

    /// Leaves a complete file to the next attempt if only space was missing; otherwise removes it.
    private func giveUp(
        _ emptied: String, _ record: String, _ failure: Failure?
    ) throws(Failure) -> PartialBody? {
        guard let failure, Self.isOfSpace(failure) else {
            try? site.temporary.unlink(emptied)
            try? site.partial.unlink(record)
            return nil
        }
        try? site.temporary.rename(emptied, to: site.temporary, named: ownName)
        throw failure
    }

    private func copy(for destination: PendingObject.Destination) -> PartialBody? {
        guard let file = try? site.temporary.open(temporaryName, O_RDONLY | O_NONBLOCK),
            let object = try? storage.createTemporary(
                ownName, for: destination, reservingBytes: wantedBytes ?? text.record.totalBytes)
        else { return nil }
        object.take(released: text.record.sent)
        guard var digests = beginDigests(), let end = copy(file, to: object, into: &digests),
            end.failure == nil,
            digests.sha256SoFar() == text.record.sha256
        else { return nil }
        return PartialBody(object: object, record: text.record, digests: digests)
    }

    /// The end of a copy.
    private struct CopyEnd {
        /// Failure of the first write; the rest was still read.
        var failure: Failure?
        var bytes: Int64 = 0
        /// Digest of these bytes, if there was a failure.
        var sha256: SHA256Digest
    }

    /// Copies the recorded bytes and adds all of them to `digests`; returns nil if they are
    /// missing.
    ///
    /// Stops copying and freeing at the first failed write.
    private func copy(
        _ file: FileDescriptor, to object: PendingObject, into digests: inout DigestSet,
        emptying: Bool = false
    ) -> CopyEnd? {
        var end = CopyEnd(bytes: releasedBytes, sha256: text.record.sha256)
        let isThere = try? file.forEachBlock(
            offset: releasedBytes, length: text.record.bytes - releasedBytes
        ) { block in
            if end.failure == nil {
                do throws(Failure) {
                    try object.write(block, at: object.destination.fileOffset + end.bytes)
                    if emptying { file.giveBack(offset: end.bytes, length: Int64(block.count)) }
                    end.bytes += Int64(block.count)
                } catch {
                    end.failure = error
                    end.sha256 = digests.sha256SoFar()
                }
            }
            digests.update(block)
        }
        return isThere == true ? end : nil
    }

    /// Adds the recorded bytes to `digests`; returns false if they differ from the record.
    private func hash(
        _ file: FileDescriptor, at offset: Int64, into digests: inout DigestSet
    ) -> Bool {
        let isThere = try? file.forEachBlock(
            offset: offset + releasedBytes, length: text.record.bytes - releasedBytes
        ) { block in
            digests.update(block)
        }
        return isThere == true && digests.sha256SoFar() == text.record.sha256
    }
}
