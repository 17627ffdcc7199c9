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
