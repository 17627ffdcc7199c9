internal import FileSystem
internal import Glibc
internal import Model

/// The open directories of a site: its root and Dray's own beneath it.
final class SiteDirectories: Sendable {
    let root: FileDescriptor
    let rootIdentity: FileStatus.Identity
    /// `.dray/tmp`
    let temporary: FileDescriptor
    /// `.dray/assembly`
    let assembly: FileDescriptor
    /// `.dray/partial`
    let partial: FileDescriptor
    /// Those of the storage, however often its root is opened.
    let bounds: SpaceBounds
    /// The file system keeps no room for what is still to be written.
    let reservesNothing: Bool

    /// Opens the site's directory as `place` says, and proves that it can be written.
    ///
    /// Dray's own directories are no symlinks, and only their owner reads them: a web server on the edge serves
    /// nothing unfinished.
    init(_ place: SitePlace, bounds: SpaceBounds) throws(Failure) {
        self.bounds = bounds
        root = try place.open()
        let descriptor = root
        rootIdentity = try asFailure { () throws(SystemError) in try descriptor.status().identity }
        let own = try Self.openOrMake(ObjectKey.privateDirectory, in: root, mode: 0o700)
        temporary = try Self.openOrMake("tmp", in: own, mode: 0o700)
        assembly = try Self.openOrMake("assembly", in: own, mode: 0o700)
        partial = try Self.openOrMake("partial", in: own, mode: 0o700)
        reservesNothing = try !Self.probe(in: temporary).canReserve
    }

    /// What files in parts are still to come to, where that is not reserved: each has its whole length
    /// from its beginning, whoever writes to it.
    func unwrittenAssemblyBytes() -> Int64 {
        guard reservesNothing, let names = try? assembly.names() else { return 0 }
        return names.reduce(0) { sum, name in
            guard let status = try? assembly.status(of: name), status.kind == .regular else {
                return sum
            }
            return sum + max(status.bytes - status.allocatedBytes, 0)
        }
    }

    /// What was seen of a file that was written and removed.
    struct Probe {
        /// The file system's own idea of now.
        var modifiedSeconds: Double
        var canReserve: Bool
    }

    /// Writes and removes a file.
    static func probe(
        in directory: FileDescriptor, bytes: Int = 1, isDurable: Bool = false
    ) throws(Failure) -> Probe {
        let name = "probe-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        return try asFailure { () throws(SystemError) in
            let file = try directory.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            defer { try? directory.unlink(name) }
            let zeros = [UInt8](repeating: 0, count: bytes)
            try zeros.withUnsafeBufferPointer { (bytes) throws(SystemError) in
                try file.write(UnsafeRawBufferPointer(bytes), at: 0)
            }
            if isDurable { try file.syncData() }
            return Probe(
                modifiedSeconds: try file.status().modifiedSeconds,
                canReserve: try file.reserve(offset: 0, length: Int64(bytes)))
        }
    }

    private static func openOrMake(
        _ name: String, in parent: FileDescriptor, mode: UInt32
    ) throws(Failure) -> FileDescriptor {
        try asFailure { () throws(SystemError) in
            let isNew = try parent.makeDirectory(named: name, mode: mode)
            if isNew { try parent.sync() }
            return try parent.openDirectory(name)
        }
    }
}
