internal import Digest
import Model
import Synchronization

/// The progress of a body that is sent to a bucket while it is received. Safe from any thread.
///
/// Can move to: whole, once all bytes are written; cancelled, once its object has ended or was
/// written out of order.
final class BodyStream: Sendable {
    private struct State {
        var writtenBytes: Int64
        var isCancelled = false
        var waiting: (bytes: Int64, continuation: CheckedContinuation<Bool, Never>)?
        var task: Task<Result<SentBody, Failure>, Never>?
    }

    let totalBytes: Int64
    private let state: Mutex<State>
    /// Nil for a body with bytes of an earlier attempt.
    private let hashes: PartHashes?
    private let abort: @Sendable () async -> Void

    /// - Parameters:
    ///   - writtenBytes: Bytes of an earlier attempt.
    ///   - partBytes: Bytes of each part.
    ///   - abort: Removes what was sent.
    init(
        totalBytes: Int64, writtenBytes: Int64, partBytes: Int64,
        abort: @escaping @Sendable () async -> Void
    ) {
        self.totalBytes = totalBytes
        self.abort = abort
        state = Mutex(State(writtenBytes: writtenBytes))
        hashes =
            writtenBytes == 0 ? PartHashes(totalBytes: totalBytes, partBytes: partBytes) : nil
    }

    /// Starts to send; `body` waits for bytes.
    func start(_ body: @escaping @Sendable () async -> Result<SentBody, Failure>) {
        let task = Task { await body() }
        state.withLock { $0.task = task }
    }

    /// Records bytes that the file has now, and hashes them for their part.
    func wrote(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        let isNext = state.withLock { !$0.isCancelled && $0.writtenBytes == offset }
        // Without the lock of the state, because the sender must not wait for the digest.
        if isNext { hashes?.update(bytes) }
        let woken = state.withLock { state -> (CheckedContinuation<Bool, Never>, Bool)? in
            guard isNext, offset == state.writtenBytes else {
                state.isCancelled = true
                return state.waiting.take().map { ($0.continuation, false) }
            }
            state.writtenBytes += Int64(bytes.count)
            guard let waiting = state.waiting, waiting.bytes <= state.writtenBytes else {
                return nil
            }
            state.waiting = nil
            return (waiting.continuation, true)
        }
        woken?.0.resume(returning: woken?.1 ?? false)
    }

    /// True if every part is hashed while it arrives: the body has no bytes of an earlier attempt.
    var hashesParts: Bool { hashes != nil }

    /// Returns the SHA-256 of a part that has arrived, in hex; nil for another one.
    func sha256(ofPart index: Int) -> String? { hashes?.digest(ofPart: index)?.description }

    /// Waits until the file has its first `bytes`; returns false if it will not. One caller at a
    /// time.
    func wait(for bytes: Int64) async -> Bool {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state -> Bool? in
                if state.isCancelled { return false }
                if state.writtenBytes >= bytes { return true }
                state.waiting = (bytes, continuation)
                return nil
            }
            if let isThere { continuation.resume(returning: isThere) }
        }
    }

    /// Stops the upload; parts that the bucket has stay there for the next attempt.
    func cancel() {
        let (waiting, task) = state.withLock { state in
            state.isCancelled = true
            return (state.waiting.take(), state.task)
        }
        waiting?.continuation.resume(returning: false)
        task?.cancel()
    }

    /// Stops an upload that is no longer needed, and removes its parts. Does not wait.
    func discard() {
        cancel()
        let (task, abort) = (state.withLock { $0.task }, abort)
        Task {
            _ = await task?.value
            await abort()
        }
    }

    /// Waits for the end of the upload.
    func result() async -> Result<SentBody, Failure> {
        guard let task = state.withLock({ $0.task }) else {
            return .failure(Failure(.workerInternal, "a stream was not started"))
        }
        return await task.value
    }
}

/// The SHA-256 of each part of a body, computed while it arrives. Safe from any thread.
private final class PartHashes: Sendable {
    fileprivate struct State: ~Copyable {
        var finished: [SHA256Digest] = []
        var hasher = SHA256Hasher()
        /// Bytes until the end of the present part, and of the body.
        var restOfPart: Int64
        var restOfBody: Int64
    }

    private let partBytes: Int64
    private let state: Mutex<State>

    init(totalBytes: Int64, partBytes: Int64) {
        self.partBytes = partBytes
        state = Mutex(State(restOfPart: min(partBytes, totalBytes), restOfBody: totalBytes))
    }

    /// Returns the digest of a part that has arrived; nil for another one.
    func digest(ofPart index: Int) -> SHA256Digest? {
        state.withLock { state in
            state.finished.indices.contains(index) ? state.finished[index] : nil
        }
    }

    /// Adds the next bytes of the body.
    func update(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { $0.update(bytes, partBytes: partBytes) }
    }
}

extension PartHashes.State {
    fileprivate mutating func update(_ bytes: UnsafeRawBufferPointer, partBytes: Int64) {
        var rest = bytes
        while !rest.isEmpty, restOfPart > 0 {
            let count = Int(min(Int64(rest.count), restOfPart))
            hasher.update(UnsafeRawBufferPointer(rebasing: rest[..<count]))
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            restOfPart -= Int64(count)
            restOfBody -= Int64(count)
            guard restOfPart == 0 else { return }
            finished.append(hasher.finish())
            restOfPart = min(partBytes, restOfBody)
        }
    }
}
