internal import FileSystem
internal import Glibc
package import Model

/// An object that is durable under its temporary name, to take the place of what lies under its key.
///
/// It ends by `DirectoryStorage.replace` or `discard`; what is forgotten is swept.
package struct StagedObject: Sendable, Hashable {
    let name: String
    let key: ObjectKey
}

// New bytes of an asset of several files: all are laid beside the old ones, and change places with them
// when the last of them is there.
extension DirectoryStorage {
    /// Makes objects durable under their temporary names and closes them. Each is ended by the call; after a
    /// failure all are discarded. A few hundred objects are enough for one call.
    package func stage(_ objects: [PendingObject]) throws(Failure) -> [StagedObject] {
        do throws(Failure) {
            let site = try verifiedDirectories()
            for object in objects where object.site.rootIdentity != site.rootIdentity {
                throw Failure("storage.io", "the site's directory was replaced meanwhile")
            }
            try makeDurable(objects)
            var staged: [StagedObject] = []
            for object in objects {
                guard case .key(let key) = object.destination else { continue }
                staged.append(StagedObject(name: object.temporaryName, key: key))
            }
            for object in objects where object.settle() { object.removeRecord() }
            return staged
        } catch {
            for object in objects { object.discard() }
            throw error
        }
    }

    private func makeDurable(_ objects: [PendingObject]) throws(Failure) {
        guard durability != .none, let oldest = objects.min(by: { $0.ordinal < $1.ordinal }) else {
            return
        }
        try asFailure { () throws(SystemError) in
            if durability == .batch, objects.count > 2 {
                return try oldest.descriptor.syncFileSystem()
            }
            for object in objects { try object.descriptor.syncData() }
        }
    }

    /// Removes what was staged and is not wanted. Best effort: what is left is swept.
    package func discard(_ staged: [StagedObject]) {
        guard !staged.isEmpty, let site = try? verifiedDirectories() else { return }
        for object in staged { try? site.temporary.unlink(object.name) }
    }

    /// Puts staged objects under their keys, in their order; durable when it returns.
    ///
    /// Before it has begun, nothing of the asset is touched; a failure leaves it so, and discards what was
    /// staged. From then on a record
    /// in `.dray/switch` says what is to take whose place: whoever dies in the middle, the next one who
    /// calls `finishReplacements` brings it to its end, with no need of the origin. A single object needs
    /// no record: a rename is one step.
    ///
    /// - Parameters:
    ///   - lease, job: name the record.
    ///   - isOurs: asked just before it begins; `worker.leaseLost` when the answer is false.
    package func replace(
        _ staged: [StagedObject], lease: LeaseID, job: JobID, isOurs: () -> Bool
    ) throws(Failure) {
        guard !staged.isEmpty else { return }
        let site: SiteDirectories
        let name: String
        do throws(Failure) {
            site = try verifiedDirectories()
            name = try PrivateName.temporary(lease: lease, job: job)
            try makeWay(for: staged, in: site)
            guard isOurs() else {
                throw Failure(
                    "worker.leaseLost", "the job is somebody else's; nothing was replaced")
            }
            if staged.count > 1 { try write(ReplacementRecord(staged), named: name, in: site) }
        } catch {
            discard(staged)
            throw error
        }
        try place(staged, in: site)
        if staged.count > 1 { try? site.replacing.unlink(name) }
    }

    /// Makes missing directories, and finds what stands in the way before anything is moved.
    private func makeWay(
        for staged: [StagedObject], in site: SiteDirectories
    ) throws(Failure) {
        var parents = ParentDirectories(root: site.root)
        for object in staged {
            let directory = try parents.open(object.key.directory).get()
            if let status = try? directory.status(of: object.key.name), status.kind == .directory {
                throw Failure(
                    "storage.pathConflict",
                    "\(withoutQuery(object.key.path)) is a folder at the site")
            }
        }
        let changed = durability == .none ? [] : parents.changed
        try asFailure { () throws(SystemError) in for parent in changed { try parent.sync() } }
    }

    /// Brings to their end replacements whose owners died in the middle. Several workers may do so at once,
    /// and the owner may be alive: who comes second finds nothing left to move. Answers how many there were.
    @discardableResult
    package func finishReplacements() throws(Failure) -> Int {
        let site = try verifiedDirectories()
        let names = try asFailure { () throws(SystemError) in try site.replacing.names() }
        var finished = 0
        for name in names.sorted() {
            guard let file = try openRegular(name, in: site.replacing, bytes: nil),
                let record = try ReplacementRecord(of: file)
            else { continue }
            try place(record.staged, in: site)
            if (try? site.replacing.unlink(name)) != nil { finished += 1 }
        }
        return finished
    }

    /// Renames what is still under its temporary name, and makes the directories durable.
    private func place(_ staged: [StagedObject], in site: SiteDirectories) throws(Failure) {
        var parents = ParentDirectories(root: site.root)
        var entered: [String: FileDescriptor] = [:]
        for object in staged {
            let directory = try parents.open(object.key.directory).get()
            entered[object.key.directory] = directory
            do throws(SystemError) {
                try site.temporary.rename(object.name, to: directory, named: object.key.name)
            } catch {
                // Somebody else has done it.
                if error.code != ENOENT { throw Failure(error) }
            }
        }
        guard durability != .none else { return }
        let directories = Array(entered.values)
        try asFailure { () throws(SystemError) in
            for directory in directories { try directory.sync() }
        }
    }

    /// The record is durable, and with it the names that it speaks of.
    private func write(
        _ record: ReplacementRecord, named name: String, in site: SiteDirectories
    ) throws(Failure) {
        try asFailure { () throws(SystemError) in
            try? site.temporary.unlink(name)
            let file = try site.temporary.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            let bytes = record.bytes
            try bytes.withUnsafeBufferPointer { (bytes) throws(SystemError) in
                try file.write(UnsafeRawBufferPointer(bytes), at: 0)
            }
            if durability != .none {
                try file.syncData()
                try site.temporary.sync()
            }
            try site.temporary.rename(name, to: site.replacing, named: name)
            if durability != .none { try site.replacing.sync() }
        }
    }
}

/// What is to take whose place, in order: names and keys, a NUL behind each, between a first and a last
/// line that tell a whole record.
private struct ReplacementRecord {
    let staged: [StagedObject]

    private static let first = "dray replacement 1"
    private static let last = "end"
    /// A million files of the longest keys there are.
    private static let mostBytes: Int64 = 4 << 30

    init(_ staged: [StagedObject]) { self.staged = staged }

    var bytes: [UInt8] {
        let words = [Self.first] + staged.flatMap { [$0.name, $0.key.path] } + [Self.last]
        return words.flatMap { Array($0.utf8) + [0] }
    }

    /// Nil for what is no whole record of this kind, which is left where it is.
    init?(of file: FileDescriptor) throws(Failure) {
        let length = try asFailure { () throws(SystemError) in try file.status().bytes }
        guard length <= Self.mostBytes else { return nil }
        var bytes: [UInt8] = []
        _ = try asFailure { () throws(SystemError) in
            try file.forEachBlock(offset: 0, length: length) { bytes.append(contentsOf: $0) }
        }
        let words = bytes.split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard words.count >= 3, words.first == Self.first, words.last == "",
            words[words.count - 2] == Self.last, words.count % 2 == 1
        else { return nil }
        var staged: [StagedObject] = []
        for place in stride(from: 1, to: words.count - 2, by: 2) {
            staged.append(
                StagedObject(name: words[place], key: try ObjectKey(words[place + 1])))
        }
        self.staged = staged
    }
}
