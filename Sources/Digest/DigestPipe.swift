import Dispatch
import Glibc
import Synchronization

/// Hashes beside its owner: what is added is copied, and another thread hashes it in order.
///
/// For a body long enough that receiving and storing it on one core while another hashes it is worth
/// the copy. It takes `blocks` × `blockBytes` of memory, once. Where hashing cannot keep up, `update`
/// waits for a block, which hashing it there and then would have taken as well.
///
/// Used by one thread at a time; it may move between threads.
struct DigestPipe: ~Copyable, Sendable {
    /// 512 KiB in all, in blocks that are hashed in less time than it takes to be switched away from.
    static let blocks = 4
    static let blockBytes = 128 << 10

    private let line: HashingLine
    /// The block that is being filled, and how far.
    private var block = 0
    private var filled = 0

    /// Goes on with `hashers`; nil, and `hashers` as they were, where as many as this host has cores
    /// for are at work already.
    init?(takingOver hashers: inout DigestHashers?) {
        guard hashers != nil, HashingLine.mayBegin(), let taken = hashers.take() else { return nil }
        line = HashingLine(taken)
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            let count = min(Self.blockBytes - filled, rest.count)
            line.fill(block, at: filled, with: UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
            filled += count
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            if filled == Self.blockBytes { submit() }
        }
    }

    private mutating func submit() {
        line.submit(filled)
        block = (block + 1) % Self.blocks
        filled = 0
    }

    /// Everything that was added is hashed; nothing else touches the hashers before the next update.
    mutating func withHashers<Value>(_ body: (inout DigestHashers) -> Value) -> Value {
        if filled > 0 { submit() }
        return line.withHashers(body)
    }
}

/// What a pipe's owner and the thread that hashes share.
private final class HashingLine: Sendable {
    private struct State {
        /// How many bytes are in each block that is to be hashed, the oldest first.
        var submitted: [Int] = []
        /// Where the oldest is.
        var first = 0
        var isAtWork = false
        var isAwaited = false
    }

    private let state = Mutex(State())
    /// Unchecked: the thread at work has them while `isAtWork`, the owner otherwise.
    private nonisolated(unsafe) var hashers: DigestHashers
    /// Unchecked: a block is its owner's from the wait for `free` to `submit`, then the thread's.
    private nonisolated(unsafe) let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: DigestPipe.blocks * DigestPipe.blockBytes, alignment: 64)
    private let free = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    private static let queue = DispatchQueue(label: "dray.digest", attributes: .concurrent)
    private static let count = Atomic<Int>(0)
    /// One core has nobody to leave the hashing to.
    private static let most: Int = {
        let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        return cores > 1 ? min(cores, 16) : 0
    }()

    /// Counts one more, where there may be; `deinit` gives it back.
    static func mayBegin() -> Bool {
        if count.add(1, ordering: .relaxed).newValue <= most { return true }
        count.subtract(1, ordering: .relaxed)
        return false
    }

    init(_ hashers: consuming DigestHashers) {
        self.hashers = hashers
        state.withLock { $0.submitted.reserveCapacity(DigestPipe.blocks) }
        // All but the one that is filled first.
        for _ in 1..<DigestPipe.blocks { free.signal() }
    }

    deinit {
        memory.deallocate()
        Self.count.subtract(1, ordering: .relaxed)
    }

    func fill(_ block: Int, at offset: Int, with bytes: UnsafeRawBufferPointer) {
        let start = block * DigestPipe.blockBytes + offset
        UnsafeMutableRawBufferPointer(rebasing: memory[start..<start + bytes.count])
            .copyMemory(from: bytes)
    }

    /// Has the block that was filled hashed, and waits until the next one is free.
    func submit(_ bytes: Int) {
        let begins = state.withLock { state in
            state.submitted.append(bytes)
            defer { state.isAtWork = true }
            return !state.isAtWork
        }
        if begins { Self.queue.async { self.work() } }
        free.wait()
    }

    func withHashers<Value>(_ body: (inout DigestHashers) -> Value) -> Value {
        let mustWait = state.withLock { state in
            state.isAwaited = state.isAtWork
            return state.isAtWork
        }
        if mustWait { ended.wait() }
        return body(&hashers)
    }

    private func work() {
        while let (block, bytes) = next() {
            let start = block * DigestPipe.blockBytes
            hashers.update(UnsafeRawBufferPointer(rebasing: memory[start..<start + bytes]))
            state.withLock { state in
                state.submitted.removeFirst()
                state.first = (state.first + 1) % DigestPipe.blocks
            }
            free.signal()
        }
    }

    /// The block to hash next; nil, and work is over, when there is none.
    private func next() -> (block: Int, bytes: Int)? {
        let (next, isAwaited) = state.withLock { state -> ((block: Int, bytes: Int)?, Bool) in
            if let bytes = state.submitted.first { return ((state.first, bytes), false) }
            state.isAtWork = false
            defer { state.isAwaited = false }
            return (nil, state.isAwaited)
        }
        if isAwaited { ended.signal() }
        return next
    }
}
