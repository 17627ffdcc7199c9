internal import FileSystem
internal import Glibc
package import Model

/// A file in one of Dray's own directories at a site.
package struct PrivateFile: Sendable, Hashable {
    package enum Folder: String, Sendable, CaseIterable {
        case temporary = "tmp"
        case multipart
        case partial
        /// Records of uploads in parts; of buckets.
        case uploads
        /// Records of the digests of objects in parts; of buckets.
        case digests
    }

    package let folder: Folder
    package let name: String
    package let bytes: Int64
    package let kind: Kind
    /// Seconds since its last change, by the file system's clock.
    package let ageSeconds: Double
    /// Seconds since its bytes were last written, by the file system's clock.
    package let idleSeconds: Double

    package enum Kind: Sendable, Hashable {
        /// An object of an attempt under this lease. A staged one belongs to a refresh.
        case object(LeaseID, isStaged: Bool)
        /// The object of an attempt, and the record of its partial body: another attempt may resume
        /// it.
        case partialObject(LeaseID, BodyOwner, record: String)
        case multipart(MultipartID)
        /// The record of a body of a range, or of one whose object is gone. Without an owner if it
        /// cannot be read.
        case record(LeaseID?, BodyOwner?)
        /// The record of the digest of an object that is gone, or replaced by another program's.
        case digest
        /// A file of a check, which its process removes.
        case probe
        case symlink
        /// Nothing that Dray makes.
        case foreign
    }

    /// Path relative to the site.
    package var path: String { "\(ObjectKey.privateDirectory)/\(folder.rawValue)/\(name)" }
}

extension DirectoryStorage {
    /// Returns the files in Dray's own directories. Records of objects that are there belong to
    /// these and are not listed. Blocks.
    ///
    /// - Parameter maxFiles: Maximum number of files of each directory.
    package func privateFiles(maxFiles: Int = 20_000) throws(Failure) -> [PrivateFile] {
        let site = try verifiedDirectories()
        let now = try SiteDirectories.probe(in: site.temporary).changedSeconds
        return try asFailure { () throws(SystemError) in
            // Records first: an object gets its record after its file.
            let records = try site.partial.names()
            var recordOf: [String: String] = [:]
            for record in records {
                recordOf[Self.objectName(ofRecord: record)] = record
            }
            var files: [PrivateFile] = []
            var objects: Set<String> = []
            for (folder, directory) in [
                (PrivateFile.Folder.temporary, site.temporary), (.multipart, site.multipart),
            ] {
                let names = try directory.names().sorted()
                // Also of those that are left for another call: their records are not orphans.
                objects.formUnion(names)
                for name in names.prefix(maxFiles) {
                    guard let status = try? directory.status(of: name) else { continue }
                    let kind = Self.kind(of: name, status, folder, recordOf[name], site)
                    files.append(PrivateFile(folder, name, status, kind, now: now))
                }
            }
            for record in records.sorted().prefix(maxFiles) {
                let object = Self.objectName(ofRecord: record)
                guard !objects.contains(object),
                    let status = try? site.partial.status(of: record)
                else { continue }
                let isOwn = object.utf8.count < record.utf8.count
                let kind: PrivateFile.Kind =
                    switch status.kind {
                    case .symbolicLink: .symlink
                    case .regular where isOwn:
                        .record(Self.lease(in: object), Self.owner(ofRecord: record, in: site))
                    default: .foreign
                    }
                files.append(PrivateFile(.partial, record, status, kind, now: now))
            }
            return files
        }
    }

    private static func kind(
        of name: String, _ status: FileStatus, _ folder: PrivateFile.Folder, _ record: String?,
        _ site: SiteDirectories
    ) -> PrivateFile.Kind {
        switch status.kind {
        case .symbolicLink: return .symlink
        case .directory, .other: return .foreign
        case .regular: break
        }
        guard folder == .temporary else {
            return MultipartID(name).map { .multipart($0) } ?? .foreign
        }
        if name.hasPrefix("probe-") { return .probe }
        guard let lease = lease(in: name) else { return .foreign }
        if let record, let owner = owner(ofRecord: record, in: site) {
            return .partialObject(lease, owner, record: record)
        }
        return .object(lease, isStaged: PrivateName.isNumbered(name))
    }

    /// Returns the lease in a temporary name.
    static func lease(in name: String) -> LeaseID? {
        name.utf8.count > 37 ? LeaseID(String(name.prefix(36))) : nil
    }

    private static func objectName(ofRecord name: String) -> String {
        String(name.dropFirst(PartialIdentity.nameBytes + 1))
    }

    private static func owner(ofRecord name: String, in site: SiteDirectories) -> BodyOwner? {
        guard let file = try? site.partial.open(name, O_RDONLY | O_NONBLOCK) else { return nil }
        var bytes = [UInt8](repeating: 0, count: PartialRecordText.maximumBytes)
        let count = try? bytes.withUnsafeMutableBufferPointer { (buffer) throws(SystemError) in
            try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
        return PartialRecordText(Array(bytes.prefix(count ?? 0)))?.owner
    }

    /// Returns false for an object that a process still writes.
    package func isUnlocked(_ file: PrivateFile) -> Bool {
        switch file.kind {
        case .object, .partialObject, .probe: break
        case .multipart, .record, .digest, .symlink, .foreign: return true
        }
        guard let site = try? verifiedDirectories(),
            let opened = try? site.temporary.open(file.name, O_RDONLY | O_NONBLOCK)
        else { return false }
        return opened.tryLock()
    }

    /// Removes a file that its owner has left, with its record. Returns false if a process still
    /// writes it, or if it is gone by now.
    package func remove(leftover file: PrivateFile) -> Bool {
        guard let site = try? verifiedDirectories() else { return false }
        switch file.kind {
        // Buckets have records of digests.
        case .digest, .symlink, .foreign: return false
        case .object, .partialObject, .probe:
            // The lock of its writer, who loses it by its death.
            guard let opened = try? site.temporary.open(file.name, O_RDONLY | O_NONBLOCK),
                opened.tryLock(), (try? site.temporary.unlink(file.name)) != nil
            else { return false }
            if case .partialObject(_, _, let record) = file.kind {
                try? site.partial.unlink(record)
            }
            return true
        case .multipart: return (try? site.multipart.unlink(file.name)) != nil
        case .record: return (try? site.partial.unlink(file.name)) != nil
        }
    }
}

extension PrivateFile {
    /// Describes an object of a bucket.
    init(_ folder: Folder, _ name: String, bytes: Int64, _ kind: Kind, ageSeconds: Double) {
        self.folder = folder
        self.name = name
        self.kind = kind
        self.bytes = bytes
        self.ageSeconds = ageSeconds
        idleSeconds = ageSeconds
    }

    fileprivate init(
        _ folder: Folder, _ name: String, _ status: FileStatus, _ kind: Kind, now: Double
    ) {
        self.folder = folder
        self.name = name
        self.kind = kind
        bytes = status.bytes
        ageSeconds = now - status.changedSeconds
        idleSeconds = now - status.modifiedSeconds
    }
}
