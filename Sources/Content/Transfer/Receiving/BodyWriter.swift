internal import Curl
internal import Digest
internal import EventLoop
internal import Model
internal import Storage

/// Writes the bytes of one body through its digests to its destination.
///
/// Confined to a loop. Blocks are neither copied nor allocated, except for a destination in memory.
final class BodyWriter {
    var object: PendingObject?
    var sink: (any TransferSink)?
    private(set) var memory: [UInt8] = []
    var digests: DigestSet
    /// First bytes of the body; nil if a web page may be the requested object.
    private var start: [UInt8]?

    init(digests: consuming DigestSet = DigestSet(), refusesPages: Bool) {
        self.digests = digests
        start = refusesPages ? [] : nil
    }

    var hasDestination: Bool { object != nil || sink != nil }

    /// Returns false if the body begins like a web page and must not.
    func admits(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let count = start?.count, count < WebPage.sniffBytes else { return true }
        start?.append(contentsOf: bytes.prefix(WebPage.sniffBytes - count))
        return start.map { WebPage.isStart($0) } != true
    }

    /// Writes a block at its offset in the object; returns the seconds that a sink took.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) -> Double {
        hash(bytes, at: offset)
        if let object {
            try object.write(bytes, at: offset)
        } else if let sink {
            let began = MonotonicClock.nowSeconds
            try sink.write(bytes, at: offset)
            return MonotonicClock.nowSeconds - began
        } else {
            memory.append(contentsOf: bytes)
        }
        return 0
    }

    /// Computes the digests of the parts in which the object is sent. Before the first byte.
    func beginParts() {
        if object?.sentParts != nil { digests.beginParts() }
    }

    private func hash(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        guard digests.hasParts, let parts = object?.sentParts else { return digests.update(bytes) }
        parts.forEachPiece(of: bytes, at: offset) { piece, ended in
            digests.update(piece)
            guard let ended else { return }
            object?.hashed(
                part: ended, as: PartHash(digest: digests.finishPart(), state: digests.state()))
        }
    }

    /// Removes and returns the digests so far, for the next attempt.
    func takeDigests() -> DigestSet {
        var taken = DigestSet()
        swap(&digests, &taken)
        return taken
    }

    /// Discards the object, if the body has one.
    func discard() {
        object?.discard()
        forget()
    }

    /// Drops the references, because the object or sink now belongs to another owner.
    func forget() { (object, sink) = (nil, nil) }
}
