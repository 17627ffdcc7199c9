internal import FileSystem
internal import Glibc
package import Model

extension DirectoryStorage {
    /// Makes a batch durable and gives its objects their final keys; ranges of multipart files are
    /// only made durable. Returns one result per object, in order; each object ends with the call.
    ///
    /// The whole batch uses one barrier, so larger batches are cheaper. A few hundred objects
    /// suffice and bound the open descriptors. A failed barrier is never repeated, because the
    /// kernel has dropped the data by then: its objects fail and must be fetched again.
    ///
    /// - Parameter isOurs: Returns true if the caller may still store an object, given by its index
    ///   in the batch. Called just before each file gets its final key, and again just after it
    ///   replaces another. If the second answer is false, the replaced file is restored. The object
    ///   then ends with `worker.leaseLost`.
    package func commit(
        _ batch: [PendingObject], isOurs: @escaping (Int) -> Bool = { _ in true }
    ) -> [Result<Void, Failure>] {
        guard !batch.isEmpty else { return [] }
        var commit = BatchCommit(batch: batch, durability: durability, isOurs: isOurs)
        do throws(Failure) {
            try commit.run(in: verifiedDirectories())
        } catch {
            commit.failAll(error)
        }
        return commit.results
    }
}

/// The steps of one `commit`.
private struct BatchCommit {
    let batch: [PendingObject]
    let durability: Durability
    let isOurs: (Int) -> Bool
    private(set) var results: [Result<Void, Failure>]

    init(
        batch: [PendingObject], durability: Durability, isOurs: @escaping (Int) -> Bool
    ) {
        self.batch = batch
        self.durability = durability
        self.isOurs = isOurs
        results = Array(repeating: .success(()), count: batch.count)
    }

    mutating func run(in site: SiteDirectories) throws(Failure) {
        // Directories first: this finds conflicts before the costly barrier, and a barrier over the
        // file system makes new directories durable as well.
        var parents = ParentDirectories(root: site.root)
        let targets = batch.indices.map { findTarget(of: $0, in: site, parents: &parents) }
        let syncedFileSystem = makeDurable()
        let entered = renameAll(to: targets)
        guard durability != .none else { return }
        if !syncedFileSystem { syncChanged(parents.changed) }
        sync(entered)
    }

    mutating func failAll(_ failure: Failure) {
        for index in batch.indices { fail(index, failure) }
    }

    private mutating func fail(_ index: Int, _ failure: Failure) {
        if case .success = results[index] { results[index] = .failure(failure) }
        batch[index].discard()
    }

    private func isAlive(_ index: Int) -> Bool {
        if case .success = results[index] { true } else { false }
    }

    /// Returns the directory for the object's name; nil for a failed object.
    private mutating func findTarget(
        of index: Int, in site: SiteDirectories, parents: inout ParentDirectories
    ) -> FileDescriptor? {
        let object = batch[index]
        guard object.site.rootIdentity == site.rootIdentity else {
            fail(index, Failure(.storageIO, "the site's directory was replaced meanwhile"))
            return nil
        }
        switch object.destination {
        case .multipart: return object.site.multipart
        case .uploadedPart:
            fail(index, Failure(.workerInternal, "a part of an upload in a directory"))
            return nil
        case .key(let key):
            switch parents.open(key.directory) {
            case .success(let directory): return directory
            case .failure(let failure):
                fail(index, failure)
                return nil
            }
        }
    }

    /// Runs the barrier; returns true if it covered the whole file system.
    private mutating func makeDurable() -> Bool {
        let alive = batch.indices.filter(isAlive)
        guard durability != .none,
            let oldest = alive.min(by: { batch[$0].ordinal < batch[$1].ordinal })
        else { return false }
        if durability == .batch, alive.count > 2 {
            do throws(SystemError) {
                try batch[oldest].descriptor.syncFileSystem()
                return true
            } catch {
                for index in alive { fail(index, Failure(error)) }
                return false
            }
        }
        for index in alive {
            do throws(SystemError) {
                try batch[index].descriptor.syncData()
            } catch {
                fail(index, Failure(error))
            }
        }
        return false
    }

    /// Gives the objects their names; returns the changed directories with their objects.
    private mutating func renameAll(
        to targets: [FileDescriptor?]
    ) -> [ObjectIdentifier: (directory: FileDescriptor, objects: [Int])] {
        var entered: [ObjectIdentifier: (directory: FileDescriptor, objects: [Int])] = [:]
        for index in batch.indices where isAlive(index) {
            guard var directory = targets[index] else { continue }
            let object = batch[index]
            if case .key(let key) = object.destination {
                do throws(SystemError) {
                    guard let placed = try rename(index, key, in: directory) else {
                        fail(
                            index,
                            Failure(
                                .workerLeaseLost,
                                "the lease is lost; \(Redaction.path(key.path)) is unchanged"))
                        continue
                    }
                    directory = placed
                } catch {
                    fail(index, Self.failure(error, of: object, key))
                    continue
                }
            }
            if object.settle() { object.record.remove() }
            entered[ObjectIdentifier(directory), default: (directory, [])].objects.append(index)
        }
        return entered
    }

    /// Renames an object to its key. Returns its directory; nil if it is not ours. A directory that
    /// was removed with its last file meanwhile is created again.
    private func rename(
        _ index: Int, _ key: ObjectKey, in opened: FileDescriptor
    ) throws(SystemError) -> FileDescriptor? {
        let object = batch[index]
        var directory = opened
        for _ in 1..<Self.maxDirectories {
            do throws(SystemError) {
                let rename = ReplacingRename(object: object, directory: directory, name: key.name)
                return try rename.run { isOurs(index) } ? directory : nil
            } catch {
                guard error.code == ENOENT,
                    (try? object.site.temporary.status(of: object.temporaryName)) != nil
                else { throw error }
            }
            var parents = ParentDirectories(root: object.site.root)
            guard case .success(let made) = parents.open(key.directory) else { break }
            if durability != .none {
                for changed in parents.changed { try changed.sync() }
            }
            directory = made
        }
        let rename = ReplacingRename(object: object, directory: directory, name: key.name)
        return try rename.run { isOurs(index) } ? directory : nil
    }

    private static let maxDirectories = 4

    /// Returns the failure of a rename. A missing file was removed by a later attempt at the same
    /// work; the disk is fine.
    private static func failure(
        _ error: SystemError, of object: PendingObject, _ key: ObjectKey
    ) -> Failure {
        if error.code == ENOENT,
            (try? object.site.temporary.status(of: object.temporaryName)) == nil
        {
            return Failure(
                .workerLeaseLost, "the fetched file of \(Redaction.path(key.path)) is gone")
        }
        return Failure(SystemError(code: error.code, operation: "rename to \(key.path)"))
    }

    /// Makes new directories durable. A failure fails all objects, because any of them may be in
    /// such a directory.
    private mutating func syncChanged(_ changed: [FileDescriptor]) {
        var synced: Set<ObjectIdentifier> = []
        for directory in changed where synced.insert(ObjectIdentifier(directory)).inserted {
            do throws(SystemError) {
                try directory.sync()
            } catch {
                failAll(Failure(error))
            }
        }
    }

    private mutating func sync(
        _ entered: [ObjectIdentifier: (directory: FileDescriptor, objects: [Int])]
    ) {
        for (directory, objects) in entered.values {
            do throws(SystemError) {
                try directory.sync()
            } catch {
                for index in objects { fail(index, Failure(error)) }
            }
        }
    }
}
