import CCrypto
import Synchronization

/// A libcrypto digest context from a pool, which gets it back from its owner.
///
/// Not copyable, so that it has one owner and one thread at a time. Fetching an algorithm and
/// allocating a context cost more than hashing a small file, so both are done once and reused. If
/// libcrypto runs out of memory, the process stops, because nothing can continue.
struct DigestContext: ~Copyable {
    private let handle: DigestHandle
    private let algorithm: DigestAlgorithm

    /// - Parameter algorithm: One that `isAvailable`, and is libcrypto's.
    init(_ algorithm: DigestAlgorithm) {
        self.algorithm = algorithm
        handle = DigestPool.shared(algorithm).take()
    }

    deinit { DigestPool.shared(algorithm).give(handle) }

    static func isAvailable(_ algorithm: DigestAlgorithm) -> Bool {
        algorithm.libcryptoName == nil || DigestPool.shared(algorithm).isAvailable
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        guard let address = bytes.baseAddress, !bytes.isEmpty else { return }
        let result = EVP_DigestUpdate(handle.context, address, bytes.count)
        precondition(result == 1, "libcrypto refused to hash")
    }

    /// Writes the digest to `output` and starts a new message.
    ///
    /// - Parameter output: At least `algorithm.byteCount` bytes.
    func finish(into output: UnsafeMutableRawBufferPointer) {
        precondition(output.count >= algorithm.byteCount)
        let start = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = EVP_DigestFinal_ex(handle.context, start, nil)
        precondition(result == 1, "libcrypto refused to finish a digest")
        handle.restart()
    }

    /// Continues from the state of another context of the same algorithm.
    func copy(_ other: borrowing DigestContext) {
        precondition(algorithm == other.algorithm)
        let result = EVP_MD_CTX_copy_ex(handle.context, other.handle.context)
        precondition(result == 1, "libcrypto refused to copy a digest")
    }
}

/// A context's address while it moves between owners.
///
/// Unchecked: either the pool's locked list or one `DigestContext` has the pointer, never both, so
/// no two threads access the context at once.
private struct DigestHandle: @unchecked Sendable {
    let context: OpaquePointer

    /// Begins a new message with the context's algorithm.
    func restart() {
        let result = EVP_DigestInit_ex2(context, nil, nil)
        precondition(result == 1, "libcrypto refused to start a digest")
    }
}

/// Idle contexts of one algorithm, all ready for a new message.
private final class DigestPool: Sendable {
    /// Maximum of idle contexts, about 400 bytes each; others are freed.
    static let idleLimit = 512

    private static let pools = DigestAlgorithm.allCases.map { DigestPool($0) }
    /// Used by nearly all transfers, so it needs no search.
    private static let sha256 = DigestPool(.sha256)

    private let name: String
    let isAvailable: Bool
    private let idle = Mutex<[DigestHandle]>([])

    private init(_ algorithm: DigestAlgorithm) {
        name = algorithm.libcryptoName ?? ""
        let method = EVP_MD_fetch(nil, name, nil)
        isAvailable = method != nil
        EVP_MD_free(method)
    }

    static func shared(_ algorithm: DigestAlgorithm) -> DigestPool {
        guard algorithm != .sha256, let index = DigestAlgorithm.allCases.firstIndex(of: algorithm)
        else { return sha256 }
        return pools[index]
    }

    func take() -> DigestHandle {
        if let handle = idle.withLock({ $0.popLast() }) { return handle }
        // The context keeps the fetched algorithm alive; it is fetched again only when the pool is
        // empty.
        guard let method = EVP_MD_fetch(nil, name, nil),
            let context = EVP_MD_CTX_new(),
            EVP_DigestInit_ex2(context, method, nil) == 1
        else { preconditionFailure("libcrypto offers no \(name)") }
        EVP_MD_free(method)
        return DigestHandle(context: context)
    }

    func give(_ handle: DigestHandle) {
        handle.restart()
        let kept = idle.withLock { idle in
            guard idle.count < Self.idleLimit else { return false }
            idle.append(handle)
            return true
        }
        if !kept { EVP_MD_CTX_free(handle.context) }
    }
}
