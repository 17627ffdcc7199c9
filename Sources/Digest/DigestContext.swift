import CCrypto
import Synchronization

/// A libcrypto digest context: taken from a pool, returned to it when its owner is done.
///
/// Not copyable, so that it has one owner and one thread at a time. Fetching an algorithm and
/// allocating a context cost more than hashing a small file, so both are done once and reused.
/// Running out of memory inside libcrypto stops the process: there is nothing to go on with.
struct DigestContext: ~Copyable {
    private let handle: DigestHandle
    private let algorithm: DigestAlgorithm

    init(_ algorithm: DigestAlgorithm) {
        self.algorithm = algorithm
        handle = DigestPool.shared(algorithm).take()
    }

    deinit { DigestPool.shared(algorithm).give(handle) }

    func update(_ bytes: UnsafeRawBufferPointer) {
        guard let address = bytes.baseAddress, !bytes.isEmpty else { return }
        let result = EVP_DigestUpdate(handle.context, address, bytes.count)
        precondition(result == 1, "libcrypto refused to hash")
    }

    /// Writes the digest to `output` and starts a new message.
    ///
    /// - Parameter output: `algorithm.byteCount` bytes at least.
    func finish(into output: UnsafeMutableRawBufferPointer) {
        precondition(output.count >= algorithm.byteCount)
        let start = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = EVP_DigestFinal_ex(handle.context, start, nil)
        precondition(result == 1, "libcrypto refused to finish a digest")
        handle.restart()
    }
}

/// A context's address on its way between owners.
///
/// Unchecked: the pointer is held either by the pool's locked list or by one `DigestContext`,
/// never by both, so no two threads reach the context at once.
private struct DigestHandle: @unchecked Sendable {
    let context: OpaquePointer

    /// Begins a new message with the algorithm that the context was made for.
    func restart() {
        let result = EVP_DigestInit_ex2(context, nil, nil)
        precondition(result == 1, "libcrypto refused to start a digest")
    }
}

/// Idle contexts of one algorithm, all ready for a new message.
private final class DigestPool: Sendable {
    /// More idle contexts than this are freed; about 400 bytes each.
    static let idleLimit = 512

    private static let sha256 = DigestPool(.sha256)

    private let algorithm: DigestAlgorithm
    private let idle = Mutex<[DigestHandle]>([])

    private init(_ algorithm: DigestAlgorithm) { self.algorithm = algorithm }

    static func shared(_ algorithm: DigestAlgorithm) -> DigestPool {
        switch algorithm {
        case .sha256: sha256
        }
    }

    func take() -> DigestHandle {
        if let handle = idle.withLock({ $0.popLast() }) { return handle }
        // The context keeps the fetched algorithm alive; it is fetched again only when the pool
        // is empty.
        guard let method = EVP_MD_fetch(nil, algorithm.rawValue, nil),
            let context = EVP_MD_CTX_new(),
            EVP_DigestInit_ex2(context, method, nil) == 1
        else { preconditionFailure("libcrypto offers no \(algorithm.rawValue)") }
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
