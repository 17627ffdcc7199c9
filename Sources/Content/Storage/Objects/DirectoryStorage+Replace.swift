internal import FileSystem
internal import Glibc
package import Model

/// An object that is durable under its temporary name and will replace the file under its key.
///
/// It ends with `DirectoryStorage.publish` or `discard`; a forgotten one is swept.
package struct StagedObject: Sendable, Hashable {
    let name: String
    let key: ObjectKey
    /// Bytes taken from the quota, which a discard returns.
    let takenBytes: Int64

    init(name: String, key: ObjectKey, takenBytes: Int64) {
        self.name = name
        self.key = key
        self.takenBytes = takenBytes
    }

    /// Refers to an object that another worker staged under this lease; `number` as for
    /// `createTemporary`.
    package init(lease: LeaseID, job: JobID, number: Int, key: String) throws(Failure) {
        name = PrivateName.temporary(lease: lease, job: job, number: number)
        self.key = try ObjectKey(key)
        takenBytes = 0
    }
}

// New versions of an asset's files: all are staged beside the old ones, and replace them once the
// last one is staged.
extension DirectoryStorage {
    /// Makes objects durable under their temporary names and closes them. Each ends with the call;
    /// a failure discards all. A few hundred objects suffice for one call.
    package func stage(_ objects: [PendingObject]) throws(Failure) -> [StagedObject] {
        do throws(Failure) {
            let site = try verifiedDirectories()
            for object in objects where object.site.rootIdentity != site.rootIdentity {
                throw Failure(.storageIO, "the site's directory was replaced meanwhile")
            }
            try makeDurable(objects)
            var staged: [StagedObject] = []
            for object in objects {
                guard case .key(let key) = object.destination else { continue }
                staged.append(
                    StagedObject(
                        name: object.temporaryName, key: key, takenBytes: object.space.quotaBytes))
            }
            for object in objects where object.settle() { object.record.remove() }
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
            // A worker that resumes finds the object by its name.
            try oldest.site.temporary.sync()
        }
    }

    /// Removes unwanted staged objects. Best effort: remaining files are swept.
    package func discard(_ staged: [StagedObject]) {
        guard !staged.isEmpty, let site = try? verifiedDirectories() else { return }
        for object in staged where (try? site.temporary.unlink(object.name)) != nil {
            bounds.giveBack(object.takenBytes)
        }
    }

    /// Creates the directories for staged objects and finds conflicts before any file is moved.
    package func makeWay(for staged: [StagedObject]) throws(Failure) {
        let site = try verifiedDirectories()
        var parents = ParentDirectories(root: site.root)
        for object in staged {
            let directory = try parents.open(object.key.directory).get()
            if let status = try? directory.status(of: object.key.name), status.kind == .directory {
                throw Failure(
                    .storagePathConflict,
                    "\(Redaction.path(object.key.path)) is a folder at the site")
            }
        }
        let changed = durability == .none ? [] : parents.changed
        try asFailure { () throws(SystemError) in for parent in changed { try parent.sync() } }
    }

    /// Moves staged objects to their keys, in order; they are durable when it returns. Returns the
    /// indices of objects that were missing, because another worker has placed or removed them.
    ///
    /// Each file has a name that only this lease has used, and moves once. So a second, concurrent
    /// or delayed call never removes another's file. After a failure the call must be repeated,
    /// because some files have moved.
    ///
    /// - Parameter isOurs: Called before each move; if it returns false, the call throws
    ///   `worker.leaseLost` and other workers continue.
    package func publish(
        _ staged: [StagedObject], isOurs: () -> Bool = { true }
    ) throws(Failure) -> [Int] {
        let site = try verifiedDirectories()
        var parents = ParentDirectories(root: site.root)
        var entered: [String: FileDescriptor] = [:]
        var missing: [Int] = []
        for (index, object) in staged.enumerated() {
            let directory = try parents.open(object.key.directory).get()
            entered[object.key.directory] = directory
            guard isOurs() else {
                throw Failure(.workerLeaseLost, "the lease of the publishing job is lost")
            }
            do throws(SystemError) {
                try site.temporary.rename(object.name, to: directory, named: object.key.name)
            } catch {
                guard error.code == ENOENT else { throw Failure(error) }
                missing.append(index)
            }
        }
        guard durability != .none else { return missing }
        let directories = parents.changed + Array(entered.values)
        try asFailure { () throws(SystemError) in
            for directory in directories { try directory.sync() }
        }
        return missing
    }
}
