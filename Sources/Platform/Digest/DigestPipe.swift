import Dispatch
import Glibc
import Synchronization

/// Hashes beside its owner: what is added is copied, and a thread of the pipe's own hashes it in order.
///
/// For a body long enough that receiving and storing it on one core while another hashes it is worth a
/// thread, half a MiB and the copy. Where hashing cannot keep up, `update` waits for a block, which
/// hashing it there and then would have taken as well.
///
/// Used by one thread at a time; it may move between threads.
struct DigestPipe: ~Copyable, Sendable {
    /// 512 KiB in all, in blocks that take some 70 µs each to hash.
    static let blocks = 4
    static let blockBytes = 128 << 10

    private let line: HashingLine
    /// The block that is being filled, and how far.
    private var block = 0
    private var filled = 0

    /// Goes on with `hashers`; nil, and `hashers` as they were, where this host's cores have as many
    /// pipes already, or no thread is to be had.
    init?(takingOver hashers: inout DigestHashers?) {
        guard hashers != nil, let begun = HashingLine.begin(&hashers) else { return nil }
        line = begun
    }

    deinit { line.close() }

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
        line.submit(block, bytes: filled)
        block = (block + 1) % Self.blocks
        filled = 0
    }

    /// What was added is all hashed, and nothing else touches the hashers before the next update.
    mutating func withHashers<Value>(_ body: (inout DigestHashers) -> Value) -> Value {
        if filled > 0 { submit() }
        return line.withHashers(body)
    }
}

/// What a pipe's owner and the thread that hashes share: a ring of blocks between two semaphores.
private final class HashingLine: Sendable {
    /// Unchecked: the thread's between taking a block and freeing it; the owner's while it holds all
    /// the blocks.
    private nonisolated(unsafe) var hashers: DigestHashers?
    /// Unchecked: a block, and its number of bytes, is the owner's while it holds a permit of `free`,
    /// and the thread's from `submitted` until it frees it.
    private nonisolated(unsafe) let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: DigestPipe.blocks * DigestPipe.blockBytes, alignment: 64)
    private nonisolated(unsafe) let counts = UnsafeMutableBufferPointer<Int>.allocate(
        capacity: DigestPipe.blocks)
    /// The owner holds one permit, for the block that it fills.
    private let free = DispatchSemaphore(value: 0)
    private let submitted = DispatchSemaphore(value: 0)
    private let isClosed = Atomic<Bool>(false)

    private static let count = Atomic<Int>(0)
    /// One core has nobody to leave the hashing to.
    private static let most: Int = {
        let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        return cores > 1 ? min(cores, 16) : 0
    }()

    static func begin(_ hashers: inout DigestHashers?) -> HashingLine? {
        guard count.add(1, ordering: .relaxed).newValue <= most else {
            count.subtract(1, ordering: .relaxed)
            return nil
        }
        // From here on the line's end counts it down.
        let line = HashingLine()
        guard line.start() else { return nil }
        line.hashers = hashers.take()
        return line
    }

    private init() {
        counts.initialize(repeating: 0)
        for _ in 1..<DigestPipe.blocks { free.signal() }
    }

    deinit {
        memory.deallocate()
        counts.deallocate()
        Self.count.subtract(1, ordering: .relaxed)
    }

    func close() {
        isClosed.store(true, ordering: .releasing)
        submitted.signal()
    }

    // MARK: The owner

    func fill(_ block: Int, at offset: Int, with bytes: UnsafeRawBufferPointer) {
        let start = block * DigestPipe.blockBytes + offset
        UnsafeMutableRawBufferPointer(rebasing: memory[start..<start + bytes.count])
            .copyMemory(from: bytes)
    }

    /// Has the block that was filled hashed, and waits until the next one is free.
    func submit(_ block: Int, bytes: Int) {
        counts[block] = bytes
        submitted.signal()
        free.wait()
    }

    func withHashers<Value>(_ body: (inout DigestHashers) -> Value) -> Value {
        // With all blocks in hand, the thread has none left to hash.
        for _ in 1..<DigestPipe.blocks { free.wait() }
        defer { for _ in 1..<DigestPipe.blocks { free.signal() } }
        guard let value = hashers?.apply(body) else {
            preconditionFailure("the hashers came with the line")
        }
        return value
    }

    // MARK: The thread

    /// The thread has a reference of its own.
    private func start() -> Bool {
        let reference = Unmanaged.passRetained(self)
        var created = pthread_t()
        let code = pthread_create(
            &created, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<HashingLine>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, reference.toOpaque())
        guard code == 0 else {
            reference.release()
            return false
        }
        pthread_detach(created)
        return true
    }

    private func run() {
        var block = 0
        while true {
            submitted.wait()
            if isClosed.load(ordering: .acquiring) { return }
            let start = block * DigestPipe.blockBytes
            let bytes = memory[start..<start + counts[block]]
            hashers?.update(UnsafeRawBufferPointer(rebasing: bytes))
            block = (block + 1) % DigestPipe.blocks
            free.signal()
        }
    }
}
