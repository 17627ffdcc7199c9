package import Digest
internal import FileSystem
internal import Glibc
package import Model
internal import S3
import Synchronization

/// The entry that has a key at a site.
package enum FoundEntry: Sendable, Hashable {
    case nothing
    /// A regular file of that length.
    case file(bytes: Int64)
    case symlink
    /// A directory, a device or a socket; or the way to it is a symlink.
    case other
}

extension DirectoryStorage {
    /// Returns what has a key now. Follows no symlink.
    package func find(key: String) throws(Failure) -> FoundEntry {
        let key = try ObjectKey(key)
        let root = try verifiedDirectories().root
        do throws(SystemError) {
            let directory = try root.openDirectory(key.directory.isEmpty ? "." : key.directory)
            let status = try directory.status(of: key.name)
            return switch status.kind {
            case .regular: .file(bytes: status.bytes)
            case .symbolicLink: .symlink
            case .directory, .other: .other
            }
        } catch {
            switch error.code {
            case ENOENT: return .nothing
            case ELOOP, ENOTDIR, EXDEV: return .other
            default: throw Failure(error)
            }
        }
    }

    /// Opens a file to read all of it; nil if it is missing or no regular file.
    package func openForAudit(key: String) throws(Failure) -> AuditedFile? {
        let key = try ObjectKey(key)
        guard let file = try openRegular(key.path, in: verifiedDirectories().root, bytes: nil)
        else {
            return nil
        }
        return AuditedFile(file)
    }
}

/// A file that is read once, in pieces, for its digest. Safe from any thread; blocks.
package final class AuditedFile: Sendable {
    private enum Source: Sendable {
        case file(FileDescriptor)
        case object(S3Storage, key: String, ObjectHead)
    }

    private struct State: ~Copyable {
        var hasher = SHA256Hasher()
        var readBytes: Int64 = 0

        /// See `AuditedFile.read`.
        mutating func read(
            _ file: FileDescriptor, atMost bytes: Int64
        ) throws(SystemError) -> SHA256Digest? {
            let rest = try file.status().bytes - readBytes
            let length = min(rest, bytes)
            if length > 0 {
                var end = readBytes
                let isThere = try file.forEachBlock(offset: readBytes, length: length) { block in
                    hasher.update(block)
                    end += Int64(block.count)
                }
                readBytes = end
                // It was cut meanwhile: its length is compared again.
                guard isThere else { return hasher.finish() }
            }
            return rest <= length ? hasher.finish() : nil
        }
    }

    private let source: Source
    private let state: Mutex<State>

    init(_ file: FileDescriptor) {
        source = .file(file)
        state = Mutex(State())
    }

    /// An object of a bucket, by its full key.
    init(_ key: String, _ head: ObjectHead, in storage: S3Storage) {
        source = .object(storage, key: key, head)
        state = Mutex(State())
    }

    /// Bytes that were read so far.
    package var readBytes: Int64 { state.withLock { $0.readBytes } }

    /// Reads up to `bytes` more; returns the digest at the file's end, else nil.
    package func read(atMost bytes: Int64) throws(Failure) -> SHA256Digest? {
        switch source {
        case .file(let file):
            let result = state.withLock { state in
                Result { () throws(SystemError) in try state.read(file, atMost: bytes) }
            }
            return try asFailure { () throws(SystemError) in try result.get() }
        case .object(let storage, let key, let head):
            return try read(storage, key, head, atMost: bytes)
        }
    }

    /// Reads a range of an object. One caller at a time.
    private func read(
        _ storage: S3Storage, _ key: String, _ head: ObjectHead, atMost bytes: Int64
    ) throws(Failure) -> SHA256Digest? {
        let (start, total) = (readBytes, head.bytes)
        let length = min(total - start, bytes)
        if length > 0 {
            let isThere = try SiteStorage.wait { () async throws(Failure) in
                try await storage.client.get(
                    key, offset: start, length: length, etag: head.etag
                ) { block in
                    self.add(block)
                    return true
                }
            }
            // It was deleted meanwhile: its length is compared again.
            guard isThere else { return state.withLock { $0.hasher.finish() } }
        }
        return start + length >= total ? state.withLock { $0.hasher.finish() } : nil
    }

    private func add(_ block: UnsafeRawBufferPointer) {
        state.withLock { state in
            state.hasher.update(block)
            state.readBytes += Int64(block.count)
        }
    }
}
