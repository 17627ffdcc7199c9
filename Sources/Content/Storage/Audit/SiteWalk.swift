internal import FileSystem
internal import Glibc
package import Model
import Synchronization

/// Entries that a walk finds, in the order of their paths' bytes.
///
/// Records follow each other in `bytes`: a kind, a length of 8 bytes and the length of a name in 2
/// bytes, little-endian, and the name. A record of the kind `directory` has the path of the directory
/// of the names after it, relative to the site.
package struct WalkBatch: Sendable {
    package enum Kind: UInt8, Sendable {
        case directory
        case file
        case symlink
        /// A device, a socket, or a directory that is too deep for keys or that cannot be read.
        case other
    }

    package var bytes: [UInt8] = []

    package static let headerBytes = 11

    package init() {}

    /// Appends a record.
    package mutating func append(
        _ kind: Kind, length: Int64, _ name: UnsafeBufferPointer<UInt8>
    ) {
        bytes.append(kind.rawValue)
        withUnsafeBytes(of: length.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt16(clamping: name.count).littleEndian) {
            bytes.append(contentsOf: $0)
        }
        bytes.append(contentsOf: name)
    }
}

/// Walks a site in the order of its paths' bytes, without its `.dray`. Memory is bounded whatever
/// the size of the site: a listing of each directory on the way, of bounded length. No symlink is
/// followed. Safe from any thread; blocks.
package final class SiteWalk: Sendable {
    private let walker: Mutex<Walker>

    fileprivate init(_ walker: consuming Walker) {
        self.walker = Mutex(walker)
    }

    /// Returns the next files, some 64 KiB; nil at the end.
    package func next() throws(Failure) -> WalkBatch? {
        let result = walker.withLock { walker in
            Result { () throws(Failure) in
                try asFailure { () throws(SystemError) in try walker.next() }
            }
        }
        return try result.get()
    }
}

extension DirectoryStorage {
    /// Begins a walk of the site after a path, from its start if nil.
    package func walk(after path: String? = nil) throws(Failure) -> SiteWalk {
        let root = try verifiedDirectories().root
        return try asFailure { () throws(SystemError) in
            SiteWalk(try Walker(root, after: path.map { Array($0.utf8) } ?? []))
        }
    }
}

/// The state of a walk. A value.
private struct Walker: Sendable {
    private struct Level: Sendable {
        var directory: FileDescriptor
        var listing: DirectoryListing
        /// The next entry.
        var index = 0
        /// Length of the directory's path.
        var pathBytes: Int
    }

    private var levels: [Level] = []
    /// Path of the directory of the last level.
    private var path: [UInt8] = []
    /// Nothing up to this path is reported.
    private let start: [UInt8]
    /// True until something after `start` was found.
    private var isSkipping: Bool
    /// True if the next record needs its directory before it.
    private var isDirectoryDue = true

    private static let slash = UInt8(ascii: "/")
    private static let batchBytes = 64 << 10

    init(_ root: FileDescriptor, after start: [UInt8]) throws(SystemError) {
        self.start = start
        isSkipping = !start.isEmpty
        levels = [Level(directory: root, listing: try DirectoryListing(of: root), pathBytes: 0)]
    }

    mutating func next() throws(SystemError) -> WalkBatch? {
        var batch = WalkBatch()
        batch.bytes.reserveCapacity(Self.batchBytes + 8_192)
        isDirectoryDue = true
        while batch.bytes.count < Self.batchBytes {
            guard try step(&batch) else { return batch.bytes.isEmpty ? nil : batch }
        }
        return batch
    }

    /// Handles one entry; returns false at the end.
    private mutating func step(_ batch: inout WalkBatch) throws(SystemError) -> Bool {
        guard let depth = levels.indices.last else { return false }
        guard levels[depth].index < levels[depth].listing.entries.count else {
            try leave(depth)
            return true
        }
        let entry = levels[depth].listing.entries[levels[depth].index]
        levels[depth].index += 1
        if depth == 0, isPrivate(entry) { return true }
        if isSkipping, !isAfterStart(entry, at: depth) { return true }
        if entry.isDirectory, levels.count < ObjectKey.depthLimit,
            path.count + entry.length + 1 <= ObjectKey.byteLimit
        {
            do throws(SystemError) {
                try enter(entry, of: depth)
            } catch {
                // One such directory does not end the walk: `lost+found` is root's.
                guard Self.isRejection(error) else { throw error }
                add(entry, .other, bytes: 0, at: depth, to: &batch)
            }
            return true
        }
        let status: FileStatus
        do throws(SystemError) {
            guard
                let found = try levels[depth].listing.status(
                    of: entry, in: levels[depth].directory)
            else { return true }
            status = found
        } catch {
            guard Self.isRejection(error) else { throw error }
            add(entry, .other, bytes: 0, at: depth, to: &batch)
            return true
        }
        let kind: WalkBatch.Kind =
            switch status.kind {
            case .regular: .file
            case .symbolicLink: .symlink
            case .directory, .other: .other
            }
        add(entry, kind, bytes: status.bytes, at: depth, to: &batch)
        return true
    }

    private static func isRejection(_ error: SystemError) -> Bool {
        error.code == EACCES || error.code == EPERM
    }

    private mutating func add(
        _ entry: DirectoryListing.Entry, _ kind: WalkBatch.Kind, bytes: Int64, at depth: Int,
        to batch: inout WalkBatch
    ) {
        if isDirectoryDue {
            path.withUnsafeBufferPointer { batch.append(.directory, length: 0, $0) }
            isDirectoryDue = false
        }
        levels[depth].listing.withName(entry) { batch.append(kind, length: bytes, $0) }
    }

    private func isPrivate(_ entry: DirectoryListing.Entry) -> Bool {
        levels[0].listing.withName(entry) { $0.elementsEqual(ObjectKey.privateDirectory.utf8) }
    }

    private mutating func enter(
        _ entry: DirectoryListing.Entry, of depth: Int
    ) throws(SystemError) {
        guard
            let directory = try levels[depth].listing.openDirectory(
                entry, in: levels[depth].directory)
        else { return }
        let listing = try DirectoryListing(of: directory)
        if !path.isEmpty { path.append(Self.slash) }
        levels[depth].listing.withName(entry) { path.append(contentsOf: $0) }
        levels.append(Level(directory: directory, listing: listing, pathBytes: path.count))
        isDirectoryDue = true
    }

    /// Reads the rest of a large directory, or returns to its parent.
    private mutating func leave(_ depth: Int) throws(SystemError) {
        let level = levels[depth]
        if level.listing.hasMore, let last = level.listing.entries.last {
            levels[depth].listing = try DirectoryListing(
                of: level.directory, after: level.listing.sortedName(of: last))
            levels[depth].index = 0
            return
        }
        levels.removeLast()
        path.removeSubrange((levels.last?.pathBytes ?? 0)...)
        isDirectoryDue = true
    }

    /// Returns true if an entry, or something in it, comes after the start.
    private mutating func isAfterStart(
        _ entry: DirectoryListing.Entry, at depth: Int
    ) -> Bool {
        var own = path
        if !own.isEmpty { own.append(Self.slash) }
        levels[depth].listing.withName(entry) { own.append(contentsOf: $0) }
        if entry.isDirectory {
            own.append(Self.slash)
            if start.starts(with: own) { return true }
        }
        guard start.lexicographicallyPrecedes(own) else { return false }
        isSkipping = false
        return true
    }
}
