internal import FileSystem
import Model
import Synchronization

/// The file of one object in `.dray/partial`, which records its progress. Safe from any thread.
///
/// Two locks: that of the state is held for moments; `latest` gives the writes of the file their
/// order, and is held during one, so that no earlier record replaces a later one.
struct ProgressRecord: ~Copyable, Sendable {
    private struct State {
        /// Name, once there is a file.
        var name: String?
        /// True if it must not be written any more.
        var isFinal = false
    }

    private let directory: FileDescriptor
    private let state = Mutex(State())
    /// What the file has. Locked while the file is written, by threads that may block.
    private let latest = Mutex<PartialRecord?>(nil)

    init(in directory: FileDescriptor) { self.directory = directory }

    /// Writes the file with `write`, unless the object has ended or has recorded as much; the last
    /// record in any case. Blocks no other calls.
    ///
    /// - Parameter next: Returns the record to write after the latest one; nil for none.
    func write(
        _ name: String, isLast: Bool, next: (PartialRecord?) -> PartialRecord?,
        _ write: (PartialRecord) throws(Failure) -> Void
    ) throws(Failure) {
        let result = latest.withLock { latest -> Result<Void, Failure> in
            guard let record = next(latest) else { return .success(()) }
            let isWanted = state.withLock { state in
                guard !state.isFinal, isLast || record.exceeds(latest) else { return false }
                state.isFinal = isLast
                return true
            }
            guard isWanted else { return .success(()) }
            latest = record
            let result = Result { () throws(Failure) in try write(record) }
            let isGone = state.withLock { state in
                state.name = name
                return state.isFinal && !isLast
            }
            // The object has ended meanwhile.
            if isGone { remove() }
            return result
        }
        try result.get()
    }

    /// Waits for a write that is under way.
    func wait() { latest.withLock { _ in } }

    /// Removes the file: the object is complete, or gone.
    func remove() {
        let name = state.withLock { state in
            state.isFinal = true
            return state.name.take()
        }
        guard let name else { return }
        try? directory.unlink(name)
    }
}

extension PartialRecord {
    /// Returns true if it records more than an earlier one.
    fileprivate func exceeds(_ other: PartialRecord?) -> Bool {
        guard let other else { return true }
        return bytes > other.bytes
            || bytes == other.bytes && (sent?.bytes ?? 0) > (other.sent?.bytes ?? 0)
    }
}
