internal import Digest
internal import FileSystem
internal import Glibc
internal import Model

/// One try to take a partial body over.
struct PartialTaker {
    let storage: DirectoryStorage
    let site: SiteDirectories
    /// The record's.
    let name: String
    let text: PartialRecordText
    let identity: PartialIdentity
    let attempt: ObjectAttempt
    /// What the attempt calls its temporary file.
    let ownName: String
    let algorithms: Set<DigestAlgorithm>

    /// What the earlier attempt called its temporary file.
    private var temporaryName: String {
        String(name.dropFirst(PartialIdentity.nameBytes + 1))
    }

    /// What the attempt that wrote the record is to the one that takes.
    enum Age {
        /// At the same work, before: its lease is over, whether or not it knows.
        case earlier
        /// The same one, or one at other work, which may be under way.
        case unknown
        /// At the same work, after: it is the taker that has lost its lease.
        case later
    }

    var age: Age {
        guard text.asset == attempt.asset, temporaryName != ownName,
            let number = temporaryName.split(separator: "-").last.flatMap({ Int64($0) })
        else { return .unknown }
        return JobID(number) < attempt.job ? .earlier : .later
    }

    /// Throws where there is no room for the rest; the record and its bytes are there then.
    func take(_ place: DirectoryStorage.PartialPlace) throws(Failure) -> PartialBody? {
        guard age != .later, isOfUse else { return nil }
        switch place {
        case .range(let assembly, let offset, let length, let totalBytes):
            return try takeRange(assembly, offset, length, totalBytes)
        case .key(let key):
            if text.isClosed { return try rename(to: key) }
            return age == .earlier ? try move(to: key) : copy(to: key)
        }
    }

    /// What came for another URL is of use where that was the same asset's, and where the origin can be asked
    /// whether it is the same object still: by a strong ETag (RFC 9110, 13.1.5).
    private var isOfUse: Bool {
        name.hasPrefix(identity.exact)
            || text.asset == attempt.asset && text.record.validator.hasPrefix("\"")
    }

    /// Whether a failure says no more than that there is no room for it now.
    private static func isOfRoom(_ failure: Failure) -> Bool {
        ["storage.noRoom", "storage.full"].contains(failure.code)
    }

    /// The old record says nothing any more. One of other work that is under way stays.
    func removeRecord() {
        guard text.isClosed || age == .earlier, temporaryName != ownName else { return }
        try? site.partial.unlink(name)
    }

    /// Removes what the attempt has left. What a range has lies in a file that is shared, and stays.
    func remove() {
        for suffix in ["", Self.emptiedSuffix] {
            try? site.temporary.unlink(temporaryName + suffix)
        }
        try? site.partial.unlink(name)
    }

    /// The bytes stay where all attempts at the range write; the whole file is hashed once more
    /// before it gets its final key.
    private func takeRange(
        _ assembly: String, _ offset: Int64, _ length: Int64, _ totalBytes: Int64
    ) throws(Failure) -> PartialBody? {
        guard text.record.bytes < length else { return nil }
        let object: PendingObject
        do throws(Failure) {
            object = try storage.openAssembly(
                id: assembly, offset: offset, length: length, of: totalBytes)
        } catch {
            guard Self.isOfRoom(error) else { return nil }
            throw error
        }
        var digests = DigestSet(algorithms)
        guard hash(object.descriptor, at: offset, into: &digests) else {
            object.leave()
            return nil
        }
        return PartialBody(object: object, record: text.record, digests: digests)
    }

    private func rename(to key: String) throws(Failure) -> PartialBody? {
        try checkRoom()
        let object: PendingObject
        var digests = DigestSet(algorithms)
        do throws(Failure) {
            let key = try ObjectKey(key)
            let own = ownName
            let file = try asFailure { () throws(SystemError) in
                try site.temporary.rename(temporaryName, to: site.temporary, named: own)
                let file = try site.temporary.open(own, O_RDWR | O_NONBLOCK)
                _ = file.tryLock()
                return file
            }
            object = PendingObject(
                destination: .key(key), descriptor: file, site: site, temporaryName: own)
            // An object that is dropped here takes its file along.
            guard hash(file, at: 0, into: &digests) else {
                removeRecord()
                return nil
            }
            try asFailure { () throws(SystemError) in try file.truncate(to: text.record.bytes) }
        } catch {
            // Its file is gone: taken by another, or swept.
            removeRecord()
            return nil
        }
        guard try hasRoom(for: object) else { return nil }
        return PartialBody(object: object, record: text.record, digests: digests)
    }

    /// Throws where there is no room for the rest; nothing was touched then.
    private func checkRoom() throws(Failure) {
        do throws(Failure) {
            try site.bounds.check(text.record.restBytes, in: site)
        } catch {
            if Self.isOfRoom(error) { throw error }
        }
    }

    /// Reserves the rest of an object. Where there is no room for it, that stays for the next attempt.
    private func hasRoom(for object: PendingObject) throws(Failure) -> Bool {
        do throws(Failure) {
            try DirectoryStorage.reserve(
                text.record.restBytes, at: text.record.bytes, of: object)
            return true
        } catch {
            guard Self.isOfRoom(error) else {
                removeRecord()
                return false
            }
            storage.keep(text.record, of: object, as: identity, by: attempt)
            removeRecord()
            throw error
        }
    }

    /// Copies what an attempt left whose lease is over, block by block, each of which gives its room to the
    /// next: there may be none for the object twice.
    ///
    /// Whoever wrote it may be frozen and go on: it may write to the old file again, which matters to
    /// nobody then, and may not give it its final key. So the file loses its name before its bytes go.
    private func move(to key: String) throws(Failure) -> PartialBody? {
        let (record, emptied) = ("\(identity.name)-\(ownName)", ownName + Self.emptiedSuffix)
        let file: FileDescriptor
        do throws(SystemError) {
            // From here on it is this attempt's, whenever that ends, and the next one's after it.
            try site.temporary.rename(temporaryName, to: site.temporary, named: ownName)
            try site.partial.rename(name, to: site.partial, named: record)
            file = try site.temporary.open(ownName, O_RDWR | O_NONBLOCK)
            _ = file.tryLock()
        } catch { return nil }
        file.giveBack(offset: text.record.bytes, length: text.record.restBytes)
        try checkRoom()
        guard (try? site.temporary.rename(ownName, to: site.temporary, named: emptied)) != nil
        else { return nil }
        let object: PendingObject
        do throws(Failure) {
            object = try storage.createTemporary(
                lease: attempt.lease, job: attempt.job, key: key)
        } catch {
            return try giveUp(emptied, record, error)
        }
        var digests = DigestSet(algorithms)
        let end = copy(file, to: object, into: &digests, emptying: true)
        guard let end, digests.sha256SoFar() == text.record.sha256 else {
            return try giveUp(emptied, record, nil)
        }
        if let failure = end.failure {
            guard Self.isOfRoom(failure), end.bytes > 0 else {
                object.discard()
                return try giveUp(emptied, record, failure)
            }
            // What was copied has lost its first place: its start is what can be kept. The rest of the
            // room comes back though a frozen writer has the file open.
            try? file.truncate(to: 0)
            try? site.temporary.unlink(emptied)
            var start = text.record
            (start.bytes, start.sha256) = (end.bytes, end.sha256)
            storage.keep(start, of: object, as: identity, by: attempt)
            throw failure
        }
        try? site.temporary.unlink(emptied)
        guard try hasRoom(for: object) else {
            try? site.partial.unlink(record)
            return nil
        }
        return PartialBody(object: object, record: text.record, digests: digests)
    }

    /// Of a file whose bytes go, block by block, to the one that has its name without it.
    private static let emptiedSuffix = ".old"

    /// Leaves a file whose bytes are all there to the next attempt, where it was only room that lacked;
    /// else removes it.
    private func giveUp(
        _ emptied: String, _ record: String, _ failure: Failure?
    ) throws(Failure) -> PartialBody? {
        guard let failure, Self.isOfRoom(failure) else {
            try? site.temporary.unlink(emptied)
            try? site.partial.unlink(record)
            return nil
        }
        try? site.temporary.rename(emptied, to: site.temporary, named: ownName)
        throw failure
    }

    private func copy(to key: String) -> PartialBody? {
        guard let file = try? site.temporary.open(temporaryName, O_RDONLY | O_NONBLOCK),
            let object = try? storage.createTemporary(
                lease: attempt.lease, job: attempt.job, key: key,
                reservingBytes: text.record.totalBytes)
        else { return nil }
        var digests = DigestSet(algorithms)
        guard let end = copy(file, to: object, into: &digests), end.failure == nil,
            digests.sha256SoFar() == text.record.sha256
        else { return nil }
        return PartialBody(object: object, record: text.record, digests: digests)
    }

    /// How far a copy came.
    private struct CopyEnd {
        /// Of what could not be written; the rest was read all the same.
        var failure: Failure?
        var bytes: Int64 = 0
        /// Of these bytes, where there is a failure.
        var sha256: SHA256Digest
    }

    /// Copies the recorded bytes and adds all of them to `digests`; nil where they are not there.
    ///
    /// Stops to copy, and to empty, at the first write that fails.
    private func copy(
        _ file: FileDescriptor, to object: PendingObject, into digests: inout DigestSet,
        emptying: Bool = false
    ) -> CopyEnd? {
        var end = CopyEnd(sha256: text.record.sha256)
        let isThere = try? file.forEachBlock(offset: 0, length: text.record.bytes) { block in
            if end.failure == nil {
                do throws(Failure) {
                    try object.write(block, at: end.bytes)
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

    /// Adds the recorded bytes to `digests`; false when they are not what was recorded.
    private func hash(
        _ file: FileDescriptor, at offset: Int64, into digests: inout DigestSet
    ) -> Bool {
        let isThere = try? file.forEachBlock(offset: offset, length: text.record.bytes) { block in
            digests.update(block)
        }
        return isThere == true && digests.sha256SoFar() == text.record.sha256
    }
}
