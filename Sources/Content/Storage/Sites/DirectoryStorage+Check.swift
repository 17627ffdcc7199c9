internal import FileSystem
internal import Glibc
package import Model

/// Findings of a check of a site's storage.
package struct SiteCheck: Sendable, Hashable {
    /// Bytes that may still be written to its file system.
    package var availableBytes: Int64
    package var totalBytes: Int64
    /// Files of attempts, multipart files and records of partial bodies, of running or ended workers.
    package var unfinishedFiles: Int
    /// Unfinished files without a write in the last day.
    package var staleFiles: Int
    package var isOnNetwork: Bool
}

extension DirectoryStorage {
    /// Checks that files can be written, synced and renamed, as each stored object is, and counts
    /// what workers have left. Removes its own file. Blocks.
    ///
    /// Throws the failure that storing an object would have.
    package func check() throws(Failure) -> SiteCheck {
        let site = try verifiedDirectories()
        try Self.tryCommit(in: site.temporary)
        try asFailure { () throws(SystemError) in try site.root.sync() }
        let space = try asFailure { () throws(SystemError) in try site.root.space() }
        let now = try SiteDirectories.probe(in: site.temporary).modifiedSeconds
        var (unfinished, stale) = (0, 0)
        for directory in [site.temporary, site.multipart, site.partial] {
            let names = try asFailure { () throws(SystemError) in try directory.names() }
            for name in names.prefix(Self.maxCounted) {
                guard let status = try? directory.status(of: name), status.kind == .regular else {
                    continue
                }
                unfinished += 1
                if now - status.modifiedSeconds > Self.staleSeconds { stale += 1 }
            }
        }
        return SiteCheck(
            availableBytes: space.availableBytes, totalBytes: space.totalBytes,
            unfinishedFiles: unfinished, staleFiles: stale, isOnNetwork: isOnNetwork)
    }

    /// Maximum number of files that are counted in a directory.
    private static let maxCounted = 10_000
    private static let staleSeconds = 86_400.0

    /// Writes a file, syncs it, renames it and syncs the directory.
    private static func tryCommit(in directory: FileDescriptor) throws(Failure) {
        let name = "probe-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        let renamed = "\(name)-renamed"
        defer {
            try? directory.unlink(name)
            try? directory.unlink(renamed)
        }
        try asFailure { () throws(SystemError) in
            let file = try directory.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try [UInt8](repeating: 0, count: 4_096).withUnsafeBufferPointer {
                (bytes) throws(SystemError) in
                try file.write(UnsafeRawBufferPointer(bytes), at: 0)
            }
            try file.sync()
            try directory.rename(name, to: directory, named: renamed)
            try directory.sync()
        }
    }
}
