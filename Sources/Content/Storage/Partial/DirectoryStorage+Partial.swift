package import Digest
internal import FileSystem
internal import Glibc
package import Model
import Synchronization

/// The start of a body from an earlier attempt, owned by one attempt.
package final class PartialBody: Sendable {
    /// The object with the bytes; nil for a location outside the sites, which its owner knows.
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

    /// Removes and returns the digests of the stored bytes; nil on later calls.
    package func takeDigests() -> DigestSet? { digests.withLock { $0.take() } }
}

extension DirectoryStorage {
    /// Returns the partial bodies at the site; lists one directory.
    package func partials() throws(Failure) -> PartialIndex {
        let site = try verifiedDirectories()
        var index = PartialIndex()
        for name in try asFailure({ () throws(SystemError) in try site.partial.names() }) {
            index.add(name)
        }
        return index
    }

    /// Records the progress of an object, so that it can be resumed if this process is killed.
    ///
    /// Best effort: if it cannot be written, the next attempt starts over. Blocks. Records of an
    /// object may come in any order; those after its end are ignored.
    package func note(
        _ record: PartialRecord, of object: PendingObject, as identity: PartialIdentity,
        by attempt: ObjectAttempt
    ) {
        try? write(record, isClosed: false, of: object, identity, attempt)
    }

    /// Ends an object and keeps its bytes for a later attempt, of any worker.
    package func keep(
        _ record: PartialRecord, of object: PendingObject, as identity: PartialIdentity,
        by attempt: ObjectAttempt
    ) {
        do throws(Failure) {
            // After the last write: a reader of a closed record may take the file over.
            try write(record, isClosed: true, of: object, identity, attempt)
            if case .multipart = object.destination {
            } else {
                // Frees the space reserved for the rest meanwhile.
                object.descriptor.giveBack(
                    offset: record.bytes, length: record.totalBytes - record.bytes)
            }
            object.leave()
        } catch {
            object.discard()
        }
    }

    /// Writes a record with the start that is sent, and then frees the space of that; without
    /// `record`, the latest one if more is sent since.
    private func write(
        _ record: PartialRecord?, isClosed: Bool, of object: PendingObject,
        _ identity: PartialIdentity, _ attempt: ObjectAttempt
    ) throws(Failure) {
        let name = "\(identity.name)-\(attempt.temporaryName)"
        try object.record.write(name, isLast: isClosed) { latest in
            guard var next = record ?? latest else { return nil }
            if record == nil, let sent = object.bodyStream?.sentStart() {
                next.advance(to: sent)
            } else {
                next.sent = object.sentStart(within: next.bytes)
            }
            return next
        } _: { (record) throws(Failure) in
            let bytes = PartialRecordText(record, of: attempt.owner, isClosed: isClosed).bytes
            guard bytes.count <= PartialRecordText.maximumBytes else {
                throw Failure(.storageIO, "a record of \(bytes.count) bytes")
            }
            try asFailure { () throws(SystemError) in
                // Overwritten, never truncated first: an existing record stays valid.
                let file = try object.site.partial.open(name, O_WRONLY | O_CREAT, mode: 0o600)
                try bytes.withUnsafeBufferPointer { (bytes) throws(SystemError) in
                    try file.write(UnsafeRawBufferPointer(bytes), at: 0)
                }
                try file.truncate(to: Int64(bytes.count))
            }
            if let sent = record.sent { object.release(sent) }
        }
        guard !isClosed else { return }
        object.renewsRecord { object in
            try? self.write(nil, isClosed: false, of: object, identity, attempt)
        }
    }

    // MARK: - Resuming

    /// The target of a resumed partial body.
    package enum PartialLocation: Sendable {
        case key(String)
        case range(multipart: MultipartID, offset: Int64, length: Int64, totalBytes: Int64)
        /// A part of a file that several workers send to a bucket.
        case uploadedPart(MultipartID, offset: Int64, length: Int64)
    }

    /// Takes over an earlier attempt's partial body; nil if there is none that helps.
    ///
    /// Reads the bytes once, to continue their digests. A file that its writer has closed gets the
    /// new lease's name in one step, so that only one of several attempts has it. A file that was
    /// never closed may still be written by a suspended worker: its bytes are copied. `digests` are
    /// needed in addition to SHA-256 and the recorded ones.
    ///
    /// Throws `storage.noRoom` and `storage.full` if there is no space for the rest; the body then
    /// stays for the next attempt.
    ///
    /// If `identity` names the asset whose only object it is, a body from another URL is also
    /// found, if its validator is a strong ETag. The origin then confirms whether it is still the
    /// same.
    ///
    /// Other bodies of earlier attempts at the same work are removed; those of later attempts are
    /// kept.
    package func takePartial(
        _ identity: PartialIdentity, of index: PartialIndex, for attempt: ObjectAttempt,
        location: PartialLocation, digests: some Sequence<DigestAlgorithm> = []
    ) throws(Failure) -> PartialBody? {
        guard index.contains(identity), let site = try? verifiedDirectories() else { return nil }
        let ownName = attempt.temporaryName
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
                taken = try taker.take(location)
            } catch {
                // The others' bodies are useless beside it, and occupy space.
                for (other, taker) in takers.enumerated() where other != index {
                    if taker.age == .earlier { taker.remove() }
                }
                throw error
            }
            guard let taken else { continue }
            // The new record first: after a kill in between, the next attempt finds one of them.
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
