internal import Digest
package import Model

/// A walk of a site's files in the order of their paths' bytes.
package enum StorageWalk: Sendable {
    case directory(SiteWalk)
    case bucket(BucketWalk)

    /// Returns the next files; nil at the end. Blocks.
    package func next() throws(Failure) -> WalkBatch? {
        switch self {
        case .directory(let walk): try walk.next()
        case .bucket(let walk):
            try SiteStorage.wait { () async throws(Failure) in try await walk.next() }
        }
    }
}

extension SiteStorage {
    /// Begins a walk of the site after a path, from its start if nil.
    package func walk(after path: String?) throws(Failure) -> StorageWalk {
        switch self {
        case .directory(let storage): .directory(try storage.walk(after: path))
        case .bucket(let storage): .bucket(BucketWalk(storage, after: path))
        }
    }

    /// Returns what has a key now.
    package func find(key: String) throws(Failure) -> FoundEntry {
        switch self {
        case .directory(let storage): try storage.find(key: key)
        case .bucket(let storage):
            try Self.wait { () async throws(Failure) in try await storage.find(key: key) }
        }
    }

    /// Opens a file to read all of it; nil if it is missing or no regular file.
    package func openForAudit(key: String) throws(Failure) -> AuditedFile? {
        switch self {
        case .directory(let storage): try storage.openForAudit(key: key)
        case .bucket(let storage):
            try Self.wait { () async throws(Failure) in try await storage.openForAudit(key: key) }
        }
    }

    /// Lists Dray's own files; see `DirectoryStorage.privateFiles`.
    package func privateFiles() throws(Failure) -> [PrivateFile] {
        switch self {
        case .directory(let storage): try storage.privateFiles()
        case .bucket(let storage):
            try Self.wait { () async throws(Failure) in try await storage.privateFiles() }
        }
    }

    /// Returns the records of digests that say nothing of an object any more; a directory has none.
    package func staleDigests() throws(Failure) -> [PrivateFile] {
        guard case .bucket(let storage) = self else { return [] }
        return try Self.wait { () async throws(Failure) in try await storage.staleDigests() }
    }

    /// Returns false for an object that a process still writes, as far as locks show.
    package func isUnlocked(_ file: PrivateFile) -> Bool {
        switch self {
        case .directory(let storage): storage.isUnlocked(file)
        case .bucket: true
        }
    }

    /// Removes a leftover; see `DirectoryStorage.remove(leftover:)`.
    package func remove(leftover file: PrivateFile) -> Bool {
        switch self {
        case .directory(let storage): return storage.remove(leftover: file)
        case .bucket(let storage):
            let isRemoved = try? Self.wait { () async throws(Failure) in
                try await storage.remove(leftover: file)
            }
            return isRemoved ?? false
        }
    }

    /// True if other hosts write to the site, so that no lock shows who does.
    package var isOnNetwork: Bool {
        switch self {
        case .directory(let storage): storage.isOnNetwork
        case .bucket: true
        }
    }

    /// Reads small files; returns their SHA-256, nil for missing ones.
    package func digests(of keys: [String]) -> [Result<String?, Failure>] {
        switch self {
        case .directory(let storage):
            keys.map { key in
                Result { () throws(Failure) in
                    try storage.openForAudit(key: key)?.read(atMost: .max)?.description
                }
            }
        case .bucket(let storage): Self.wait { await storage.digests(of: keys) }
        }
    }
}
