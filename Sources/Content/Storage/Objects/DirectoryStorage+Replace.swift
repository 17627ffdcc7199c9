internal import FileSystem
internal import Glibc
package import Model

/// An object that is durable under its temporary name, to take the place of what lies under its key.
///
/// It ends by `DirectoryStorage.place` or `discard`; what is forgotten is swept.
package struct StagedObject: Sendable, Hashable {
    let name: String
    let key: ObjectKey
    /// What it has taken of the quota, for a discard to give back.
    let takenBytes: Int64

    init(name: String, key: ObjectKey, takenBytes: Int64) {
        self.name = name
        self.key = key
        self.takenBytes = takenBytes
    }

    /// What somebody else has staged under this lease; `number` as for `createTemporary`.
    package init(lease: LeaseID, job: JobID, number: Int, key: String) throws(Failure) {
        name = try PrivateName.temporary(lease: lease, job: job, number: number)
        self.key = try ObjectKey(key)
        takenBytes = 0
    }
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
                staged.append(
                    StagedObject(
                        name: object.temporaryName, key: key, takenBytes: object.quotaBytes))
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
            // Whoever goes on with it finds it by its name.
            try oldest.site.temporary.sync()
        }
    }

    /// Removes what was staged and is not wanted. Best effort: what is left is swept.
    package func discard(_ staged: [StagedObject]) {
        guard !staged.isEmpty, let site = try? verifiedDirectories() else { return }
        for object in staged where (try? site.temporary.unlink(object.name)) != nil {
            bounds.giveBack(object.takenBytes)
        }
    }

    /// Makes the directories that staged objects go to, and finds what stands in their way before anything is
    /// moved.
    package func makeWay(for staged: [StagedObject]) throws(Failure) {
        let site = try verifiedDirectories()
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

    /// Puts staged objects under their keys, in their order; durable when it returns. Answers the places of those
    /// that were not there any more, since somebody else has put them there, or removed them.
    ///
    /// Each file has a name that only this lease has used, and moves once. So whoever does this a second time, or at the
    /// same time, or after having been stopped for a day, takes nothing away from anybody. After a failure it is to be
    /// done again: some have moved.
    ///
    /// - Parameter isOurs: asked before each; `worker.leaseLost` when it is not so. Others go on then.
    package func place(
        _ staged: [StagedObject], isOurs: () -> Bool = { true }
    ) throws(Failure) -> [Int] {
        let site = try verifiedDirectories()
        var parents = ParentDirectories(root: site.root)
        var entered: [String: FileDescriptor] = [:]
        var missing: [Int] = []
        for (place, object) in staged.enumerated() {
            let directory = try parents.open(object.key.directory).get()
            entered[object.key.directory] = directory
            guard isOurs() else {
                throw Failure("worker.leaseLost", "the switch is somebody else's")
            }
            do throws(SystemError) {
                try site.temporary.rename(object.name, to: directory, named: object.key.name)
            } catch {
                guard error.code == ENOENT else { throw Failure(error) }
                missing.append(place)
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
