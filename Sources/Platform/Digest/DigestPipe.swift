import Dispatch
import EventLoop
import Glibc
import Synchronization

/// Hashes in the background: added bytes are copied, and the pipe's own thread hashes them in
/// order.
///
/// For a body long enough to be worth a thread, half a MiB and the copy, while another core
/// receives and stores it. If hashing cannot keep up, `update` waits for a block, which is no
/// longer than hashing it directly.
///
/// Used by one thread at a time; it may move between threads.
struct DigestPipe: ~Copyable, Sendable {
    /// 512 KiB in total, in blocks that take some 70 µs each to hash.
    static let blocks = 4
    static let blockBytes = 128 << 10

    private let line: HashingLine
    /// The block that is being filled, and its number of bytes.
    private var block = 0
    private var filled = 0

    /// Continues with `hashers`. Returns nil and leaves `hashers` unchanged if the pipes already
    /// occupy this host's cores, or if no thread can start.
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

    /// Calls `body` when all added bytes are hashed; nothing else uses the hashers before the next
    /// update.
    mutating func withHashers<Value>(_ body: (inout DigestHashers) -> Value) -> Value {
        if filled > 0 { submit() }
        return line.withHashers(body)
    }
}

/// State shared by a pipe's owner and its hashing thread: a ring of blocks between two semaphores.
private final class HashingLine: Sendable {
    /// Unchecked: used by the thread between taking a block and freeing it; used by the owner while
    /// it has all the blocks.
    private nonisolated(unsafe) var hashers: DigestHashers?
    /// Unchecked: a block and its byte count belong to the owner while it has a permit of `free`.
    /// From `submitted` on they belong to the thread, until it frees them.
    private nonisolated(unsafe) let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: DigestPipe.blocks * DigestPipe.blockBytes, alignment: 64)
    private nonisolated(unsafe) let counts = UnsafeMutableBufferPointer<Int>.allocate(
        capacity: DigestPipe.blocks)
    /// The owner has one permit, for the block that it fills.
    private let free = DispatchSemaphore(value: 0)
    private let submitted = DispatchSemaphore(value: 0)
    private let isClosed = Atomic<Bool>(false)

    private static let count = Atomic<Int>(0)
    /// A single core has no other to hash on.
    private static let most: Int = {
        let cores = UsableCPUs.count
        return cores > 1 ? min(cores, 16) : 0
    }()

    static func begin(_ hashers: inout DigestHashers?) -> HashingLine? {
        guard count.add(1, ordering: .relaxed).newValue <= most else {
            count.subtract(1, ordering: .relaxed)
            return nil
        }
        // From here on, the line's end decrements the count.
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

    /// Submits the filled block for hashing, and waits until the next one is free.
    func submit(_ block: Int, bytes: Int) {
        counts[block] = bytes
        submitted.signal()
        free.wait()
    }

    func withHashers<Value>(_ body: (inout DigestHashers) -> Value) -> Value {
        // While the owner has all blocks, the thread has none to hash.
        for _ in 1..<DigestPipe.blocks { free.wait() }
        defer { for _ in 1..<DigestPipe.blocks { free.signal() } }
        guard let value = hashers?.apply(body) else {
            preconditionFailure("the hashers came with the line")
        }
        return value
    }

    // MARK: The thread

    /// Starts the thread, which has its own reference.
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
