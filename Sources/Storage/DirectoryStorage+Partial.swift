package import Digest
internal import FileSystem
internal import Glibc
package import Model
import Synchronization

/// The start of a body that an earlier attempt left, in the hands of one attempt.
package final class PartialBody: Sendable {
    /// Where the bytes lie; nil for a place that is no site's, which its owner knows.
    package let object: PendingObject?
    package let record: PartialRecord
    private let digests: Mutex<DigestSet?>

    package init(
        object: PendingObject?, record: PartialRecord, digests: consuming sending DigestSet
    ) {
        self.object = object
        self.record = record
        self.digests = Mutex(consume digests)
    }

    /// The digests of the bytes that lie there, to go on with; nil the second time.
    package func takeDigests() -> DigestSet? { digests.withLock { $0.take() } }
}

extension DirectoryStorage {
    /// What lies at the site unfinished; one listing of one directory.
    package func partials() throws(Failure) -> PartialIndex {
        let site = try verifiedDirectories()
        var index = PartialIndex()
        for name in try asFailure({ () throws(SystemError) in try site.partial.names() }) {
            index.add(name)
        }
        return index
    }

    /// Writes down how far an object is, so that it can be gone on with when this process is killed.
    ///
    /// Best effort: where it cannot be written, the next attempt starts over. Blocks; several notes of an
    /// object may come in any order, and after its end, when they count for nothing.
    package func note(
        _ record: PartialRecord, of object: PendingObject, as identity: PartialIdentity,
        by attempt: ObjectAttempt
    ) {
        try? write(record, isClosed: false, of: object, identity, attempt)
    }

    /// Ends an object and keeps what it has for a later attempt, of any worker.
    package func keep(
        _ record: PartialRecord, of object: PendingObject, as identity: PartialIdentity,
        by attempt: ObjectAttempt
    ) {
        do throws(Failure) {
            // After the last write: who finds the record closed may take the file for its own.
            try write(record, isClosed: true, of: object, identity, attempt)
            if case .key = object.destination {
                // What was reserved for the rest is not kept from others meanwhile.
                object.descriptor.giveBack(
                    offset: record.bytes, length: record.totalBytes - record.bytes)
            }
            object.leave()
        } catch {
            object.discard()
        }
    }

    private func write(
        _ record: PartialRecord, isClosed: Bool, of object: PendingObject,
        _ identity: PartialIdentity, _ attempt: ObjectAttempt
    ) throws(Failure) {
        let name = "\(identity.name)-\(try attempt.temporaryName())"
        let bytes = PartialRecordText(record, of: attempt.asset, isClosed: isClosed).bytes
        guard bytes.count <= PartialRecordText.maximumBytes else {
            throw Failure("storage.io", "a record of \(bytes.count) bytes")
        }
        try object.writeRecord(name, bytes: record.bytes, isLast: isClosed) { () throws(Failure) in
            try asFailure { () throws(SystemError) in
                // Written over, never first emptied: a record that is there stays there.
                let file = try object.site.partial.open(name, O_WRONLY | O_CREAT, mode: 0o600)
                try bytes.withUnsafeBufferPointer { (bytes) throws(SystemError) in
                    try file.write(UnsafeRawBufferPointer(bytes), at: 0)
                }
                try file.truncate(to: Int64(bytes.count))
            }
        }
    }

    // MARK: - Going on

    /// What a partial body is to be gone on with as.
    package enum PartialPlace: Sendable {
        case key(String)
        case range(assembly: String, offset: Int64, length: Int64, totalBytes: Int64)
    }

    /// Takes over what an earlier attempt left of an object; nil when there is nothing of use.
    ///
    /// Reads the bytes once, to go on with their digests. A file that its writer has closed is given
    /// the new lease's name, in one step, so that one of several takers has it. One that was never
    /// closed may still be written to, by a worker that was frozen: its bytes are copied. `digests`
    /// are those wanted besides SHA-256 and what the record names.
    ///
    /// Throws `storage.noRoom` and `storage.full` where there is no room for the rest: what lies there stays
    /// for the next attempt.
    ///
    /// Where `identity` names the asset whose only object it is, that is found too which came for another
    /// URL, if its validator is a strong ETag: the origin says then whether it is the same still.
    ///
    /// What earlier attempts at the same work have left besides is removed; what later ones have is
    /// left alone.
    package func takePartial(
        _ identity: PartialIdentity, of index: PartialIndex, for attempt: ObjectAttempt,
        place: PartialPlace, digests: some Sequence<DigestAlgorithm> = []
    ) throws(Failure) -> PartialBody? {
        guard index.contains(identity), let site = try? verifiedDirectories(),
            let ownName = try? attempt.temporaryName()
        else { return nil }
        var found: [(name: String, text: PartialRecordText)] = []
        for name in index.names(of: identity) {
            guard let bytes = try? Self.readSmall(name, in: site.partial) else { continue }
            if let text = PartialRecordText(bytes) {
                found.append((name, text))
            } else {
                try? site.partial.unlink(name)
            }
        }
        found.sort { $0.text.record.bytes > $1.text.record.bytes }
        let takers = found.map { name, text in
            PartialTaker(
                storage: self, site: site, name: name, text: text, identity: identity,
                attempt: attempt, ownName: ownName,
                algorithms: Set(digests).union(text.record.digests.map(\.algorithm)))
        }
        var taken: PartialBody?
        for (index, taker) in takers.enumerated() where taken == nil {
            do throws(Failure) {
                taken = try taker.take(place)
            } catch {
                // What others have left is of no use beside it, and takes room.
                for (other, taker) in takers.enumerated() where other != index {
                    if taker.age == .earlier { taker.remove() }
                }
                throw error
            }
            guard let taken else { continue }
            // The new record first: killed in between, the next attempt finds one of them.
            if let object = taken.object {
                note(taken.record, of: object, as: identity, by: attempt)
            }
            taker.removeRecord()
        }
        for taker in takers where taker.age == .earlier { taker.remove() }
        return taken
    }

    private static func readSmall(
        _ name: String, in directory: FileDescriptor
    ) throws(SystemError) -> [UInt8] {
        let file = try directory.open(name, O_RDONLY | O_NONBLOCK)
        var bytes = [UInt8](repeating: 0, count: PartialRecordText.maximumBytes)
        let count = try bytes.withUnsafeMutableBufferPointer { (buffer) throws(SystemError) in
            try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
        return Array(bytes.prefix(count))
    }
}

/// One try to take a partial body over.
private struct PartialTaker {
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
        try? site.temporary.unlink(temporaryName)
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
                return try site.temporary.open(own, O_RDWR | O_NONBLOCK)
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
    /// next: there may be none for the object twice. Whoever wrote it may be frozen and write to the old
    /// file again, which matters to nobody then.
    private func move(to key: String) throws(Failure) -> PartialBody? {
        guard let file = try? site.temporary.open(temporaryName, O_RDWR | O_NONBLOCK) else {
            return nil
        }
        file.giveBack(offset: text.record.bytes, length: text.record.restBytes)
        try checkRoom()
        guard
            let object = try? storage.createTemporary(
                lease: attempt.lease, job: attempt.job, key: key)
        else { return nil }
        var digests = DigestSet(algorithms)
        guard hash(file, at: 0, into: &digests, copyingTo: object, emptying: true) else {
            return nil
        }
        try? site.temporary.unlink(temporaryName)
        guard try hasRoom(for: object) else { return nil }
        return PartialBody(object: object, record: text.record, digests: digests)
    }

    private func copy(to key: String) -> PartialBody? {
        guard let file = try? site.temporary.open(temporaryName, O_RDONLY | O_NONBLOCK),
            let object = try? storage.createTemporary(
                lease: attempt.lease, job: attempt.job, key: key,
                reservingBytes: text.record.totalBytes)
        else { return nil }
        var digests = DigestSet(algorithms)
        guard hash(file, at: 0, into: &digests, copyingTo: object) else { return nil }
        return PartialBody(object: object, record: text.record, digests: digests)
    }

    /// Adds the recorded bytes to `digests`; false when they are not what was recorded.
    private func hash(
        _ file: FileDescriptor, at offset: Int64, into digests: inout DigestSet,
        copyingTo object: PendingObject? = nil, emptying: Bool = false
    ) -> Bool {
        var position: Int64 = 0
        var isCopied = true
        let isThere = try? file.forEachBlock(offset: offset, length: text.record.bytes) { block in
            digests.update(block)
            if let object, (try? object.write(block, at: position)) == nil { isCopied = false }
            if emptying { file.giveBack(offset: position, length: Int64(block.count)) }
            position += Int64(block.count)
        }
        return isThere == true && isCopied && digests.sha256SoFar() == text.record.sha256
    }
}
