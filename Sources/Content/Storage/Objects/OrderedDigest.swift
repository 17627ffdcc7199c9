internal import Digest
internal import FileSystem
import Model
import Synchronization

/// The digest of a file whose ranges this process alone writes in order, which saves a second read.
/// Safe from any thread.
///
/// Anything else ends the chain, and the file is read once it is complete: a range that begins
/// before the previous one ended, is written twice, or is discarded.
final class OrderedDigest: Sendable {
    private struct State: ~Copyable {
        /// Nil while `catchUp` uses it.
        var hasher: SHA256Hasher? = SHA256Hasher()
        /// True if some written bytes must still be read for the digest.
        var isBehind = false
        /// Offset of the next byte.
        var position: Int64 = 0
        /// The end of the range that is being written.
        var end: Int64?
        var parts: [MultipartFile.Part] = []
        var isBroken = false
        var whole: SHA256Digest?
    }

    private let state = Mutex(State())

    /// Returns true if a range continues the previous one; its bytes are then added by `update`.
    func begin(offset: Int64, length: Int64) -> Bool {
        state.withLock { state in
            guard !state.isBroken, state.end == nil, state.position == offset, length > 0 else {
                return false
            }
            state.end = offset + length
            return true
        }
    }

    /// Records that the first bytes of the first range are stored already. Nothing is added until
    /// `catchUp` has read them.
    func fallBehind(bytes: Int64) {
        state.withLock { state in
            guard state.position == 0, let end = state.end, bytes < end else {
                state.isBroken = true
                return
            }
            state.position = bytes
            state.isBehind = bytes > 0
        }
    }

    /// Reads bytes written before and meanwhile; it blocks.
    func catchUp(with file: FileDescriptor) throws(SystemError) {
        var hasher = state.withLock { $0.isBehind ? $0.hasher.take() : nil }
        guard hasher != nil else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
        defer { buffer.deallocate() }
        var done: Int64 = 0
        while true {
            let written: Int64? = state.withLock { state in
                guard !state.isBroken, state.position > done else {
                    state.isBehind = false
                    state.hasher = hasher.take()
                    return nil
                }
                return state.position
            }
            guard let written else { return }
            let wanted = Int(min(written - done, Int64(buffer.count)))
            let count = try file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: done)
            guard count > 0 else { return breakOff() }
            hasher?.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            done += Int64(count)
        }
    }

    /// Adds bytes of the range that has begun.
    func update(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        state.withLock { state in
            guard !state.isBroken, let end = state.end, offset == state.position,
                Int64(bytes.count) <= end - offset
            else {
                state.isBroken = true
                return
            }
            if !state.isBehind { state.hasher?.update(bytes) }
            state.position += Int64(bytes.count)
            if state.position == end { state.end = nil }
        }
    }

    /// Records the digest of a complete range.
    func note(offset: Int64, length: Int64, sha256: String) {
        state.withLock { state in
            state.parts.append(MultipartFile.Part(offset: offset, length: length, sha256: sha256))
        }
    }

    func breakOff() { state.withLock { $0.isBroken = true } }

    /// Returns the digest of the whole file if its parts are those written here; nil otherwise.
    func whole(of totalBytes: Int64, parts: [MultipartFile.Part]) -> SHA256Digest? {
        state.withLock { state in
            guard !state.isBroken, !state.isBehind, state.position == totalBytes, state.end == nil,
                state.parts.sorted(by: { $0.offset < $1.offset }) == parts
            else { return nil }
            if let whole = state.whole { return whole }
            state.whole = state.hasher?.finish()
            return state.whole
        }
    }
}

/// The chains of the most recently begun files. Safe from any thread.
struct OrderedDigests: ~Copyable, Sendable {
    private let chains = Mutex<[(id: MultipartID, chain: OrderedDigest)]>([])
    /// Maximum number of chains; each takes about 500 bytes.
    private static let most = 64

    /// Returns the chain of a multipart file; its first byte begins one.
    func chain(_ id: MultipartID, at offset: Int64) -> OrderedDigest? {
        chains.withLock { chains in
            if let known = chains.first(where: { $0.id == id }) { return known.chain }
            guard offset == 0 else { return nil }
            if chains.count >= Self.most { chains.removeFirst() }
            let chain = OrderedDigest()
            chains.append((id, chain))
            return chain
        }
    }

    subscript(id: MultipartID) -> OrderedDigest? {
        chains.withLock { chains in chains.first { $0.id == id }?.chain }
    }

    func remove(_ id: MultipartID) {
        chains.withLock { chains in chains.removeAll { $0.id == id } }
    }
}
