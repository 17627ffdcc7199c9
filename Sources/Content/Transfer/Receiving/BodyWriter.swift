internal import Curl
internal import Digest
internal import EventLoop
internal import Model
internal import Storage

/// Where the bytes of one body go: through its digests to its destination.
///
/// Confined to a loop. Nothing is copied or allocated for a block, but into memory.
final class BodyWriter {
    var object: PendingObject?
    var sink: (any TransferSink)?
    private(set) var memory: [UInt8] = []
    var digests: DigestSet
    /// The first bytes; nil where a web page may be what was requested.
    private var start: [UInt8]?

    init(digests: consuming DigestSet = DigestSet(), refusesPages: Bool) {
        self.digests = digests
        start = refusesPages ? [] : nil
    }

    var hasDestination: Bool { object != nil || sink != nil }

    /// False when the body begins like a web page, and must not.
    func admits(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let count = start?.count, count < WebPage.sniffBytes else { return true }
        start?.append(contentsOf: bytes.prefix(WebPage.sniffBytes - count))
        return start.map { WebPage.isStart($0) } != true
    }

    /// Writes a block at its offset in the object; returns how many seconds a sink took.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) -> Double {
        digests.update(bytes)
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

    /// The digests up to now, for the next attempt to continue with.
    func takeDigests() -> DigestSet {
        var taken = DigestSet()
        swap(&digests, &taken)
        return taken
    }

    /// Discards the object, where the body has one.
    func discard() {
        object?.discard()
        forget()
    }

    /// The object or sink belongs to another now.
    func forget() { (object, sink) = (nil, nil) }
}
