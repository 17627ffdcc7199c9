internal import Digest
import Model
internal import S3
import Synchronization

/// The progress of a body that is sent to a bucket while it is received. Safe from any thread.
///
/// Can move to: whole, once all bytes are written; cancelled, once its object has ended or was
/// written out of order.
final class BodyStream: Sendable {
    private struct State {
        var writtenBytes: Int64
        /// Digests of the parts that were hashed while they arrived, by their index.
        var hashes: [Int: PartHash] = [:]
        /// ETags of the parts that the bucket has, by their index.
        var tags: [Int: String] = [:]
        /// Number of the first parts that it has without a gap.
        var sentCount = 0
        var isCancelled = false
        var waiting: (bytes: Int64, continuation: CheckedContinuation<Bool, Never>)?
        var task: Task<Result<SentBody, Failure>, Never>?
    }

    let totalBytes: Int64
    let parts: PartBoundaries
    /// Bytes from which on the start of the file is not needed for anything but this upload.
    private let keptBytes: Int64
    private let state: Mutex<State>
    private let abort: @Sendable () async -> Void
    private let noteSent: @Sendable () -> Void

    /// - Parameters:
    ///   - writtenBytes: Bytes of an earlier attempt.
    ///   - partBytes: Bytes of each part.
    ///   - keptBytes: No start is released before so many bytes have arrived.
    ///   - noteSent: Called after each part that the bucket has. May block.
    ///   - abort: Removes what was sent.
    init(
        totalBytes: Int64, writtenBytes: Int64, partBytes: Int64, keptBytes: Int64,
        noteSent: @escaping @Sendable () -> Void, abort: @escaping @Sendable () async -> Void
    ) {
        self.totalBytes = totalBytes
        parts = PartBoundaries(totalBytes: totalBytes, partBytes: partBytes)
        self.keptBytes = keptBytes
        self.noteSent = noteSent
        self.abort = abort
        state = Mutex(State(writtenBytes: writtenBytes))
    }

    /// Starts to send; `body` waits for bytes.
    func start(_ body: @escaping @Sendable () async -> Result<SentBody, Failure>) {
        let task = Task { await body() }
        state.withLock { $0.task = task }
    }

    /// Records the digest of a part, before its last bytes are written.
    func hashed(_ index: Int, _ hash: PartHash) { state.withLock { $0.hashes[index] = hash } }

    /// Returns the SHA-256 of a part whose bytes are written, in hex; nil if it was not hashed.
    func sha256(ofPart index: Int) -> String? {
        state.withLock { $0.hashes[index] }?.digest.description
    }

    /// Begins to send to an upload that has the first parts already.
    func begin(having parts: [UploadedPart]) {
        state.withLock { state in
            state.tags = [:]
            for (index, part) in parts.enumerated() { state.tags[index] = part.etag }
            state.sentCount = parts.count
        }
    }

    /// Records that the bucket has a part.
    func sent(_ index: Int, etag: String) {
        state.withLock { state in
            state.tags[index] = etag
            while state.tags[state.sentCount] != nil { state.sentCount += 1 }
        }
        noteSent()
    }

    /// Returns the longest start within the first `bytes` that is sent, and after which the digest of
    /// the body can continue; nil if there is none, or the file still needs it.
    func sentStart(within bytes: Int64 = .max) -> SentStart? {
        let found = state.withLock {
            state -> (state: SHA256State, tags: [Int: String], count: Int)? in
            // Another stream may send the file now.
            guard !state.isCancelled, min(bytes, state.writtenBytes) >= keptBytes else {
                return nil
            }
            // A body is complete once its digest is compared, not once its last part is sent.
            let count = Int(
                min(
                    Int64(state.sentCount), bytes / parts.partBytes,
                    (totalBytes - 1) / parts.partBytes))
            guard count > 0, let hashed = state.hashes[count - 1]?.state else { return nil }
            return (hashed, state.tags, count)
        }
        return found.map { found in
            SentStart(
                state: found.state,
                tags: SentStart.digest(ofTags: (0..<found.count).compactMap { found.tags[$0] }))
        }
    }

    /// Records bytes that the file has now.
    func wrote(_ count: Int, at offset: Int64) {
        let woken = state.withLock { state -> (CheckedContinuation<Bool, Never>, Bool)? in
            guard !state.isCancelled, offset == state.writtenBytes else {
                state.isCancelled = true
                return state.waiting.take().map { ($0.continuation, false) }
            }
            state.writtenBytes += Int64(count)
            guard let waiting = state.waiting, waiting.bytes <= state.writtenBytes else {
                return nil
            }
            state.waiting = nil
            return (waiting.continuation, true)
        }
        woken?.0.resume(returning: woken?.1 ?? false)
    }

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
