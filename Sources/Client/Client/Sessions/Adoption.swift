import API
import CoordinatorClient
import Digest
import FileSystem
import Glibc
package import Model
import Rendering
package import Storage
import Synchronization
import Text

/// Offers the files of a mirror that another tool made to a catalog: those under the keys of its
/// assets, and copies of those that have a digest of the list. Files of titles are known only once their
/// manifests are read: workers look for these. Nothing gets a key before its digest was compared. No symlink beneath the mirror or the site is followed. Safe from any thread; blocks.
package final class Adoption: Sendable {
    private struct State {
        /// Hashes of the names of assets whose files the origin is asked about.
        var asked: Set<Int> = []
        var copied = 0
        /// Files that lie elsewhere than at their keys, and were fetched.
        var undescribed = 0
        var uncopied = 0
        var unfinished = 0
        /// The first of these.
        var unfinishedFile: String?
    }

    private enum Location {
        /// Absolute paths without a slash at their ends.
        case directory(String, site: String)
        /// The mirror is the site.
        case bucket(S3Storage)
    }

    private let location: Location
    private let state = Mutex(State())

    package init(directory: String, site: String) {
        location = .directory(directory, site: site)
    }

    /// Adopts the objects of a bucket, with the credentials of this process. Sends nothing yet.
    package convenience init(bucket url: String) throws(Failure) {
        let site = try StorageURL(url)
        guard let bucket = site.bucket else {
            throw Failure(.inputDestination, "DIR \(redacted(url: url)): no URL of a bucket")
        }
        self.init(try S3Storage(site, bucket, access: BucketAccess()))
    }

    /// Adopts the objects of an open bucket.
    package init(_ storage: S3Storage) { location = .bucket(storage) }

    /// Throws if a bucket cannot be read: without its objects, everything would be fetched.
    package func check() async throws(Failure) {
        if case .bucket(let storage) = location { _ = try await storage.list() }
    }

    /// Throws `input.unreadable` for a mirror that is no directory.
    package static func check(_ directory: String) throws(Failure) {
        do throws(SystemError) {
            _ = try FileDescriptor.openLocation(directory)
        } catch {
            throw Failure(.inputUnreadable, "DIR \(printable(directory)): \(error.reason)")
        }
    }

    /// Returns assets with the files that may be theirs. A file that the list has a digest of is
    /// compared by its worker. Blocks for the files of a directory.
    func offer(_ assets: [AssetSubmission]) async throws(Failure) -> [AssetSubmission] {
        var assets = assets
        for (index, asset) in assets.enumerated()
        where asset.kind != .file || asset.sidecars?.isEmpty == false {
            assets[index].adopts = true
        }
        switch location {
        case .directory(let directory, let site):
            return assets.map { offer($0, from: directory, to: site) }
        case .bucket(let storage): return try await offer(assets, in: storage)
        }
    }

    private func offer(
        _ asset: AssetSubmission, from directory: String, to site: String
    ) -> AssetSubmission {
        guard asset.kind == .file else { return asset }
        guard let file = Self.open(asset.key, in: site) else {
            copy(asset, from: directory, to: site)
            return asset
        }
        if Self.isCompared(asset) { return asset }
        guard !Self.isUnfinished(asset.key, in: site) else {
            state.withLock { state in
                state.unfinished += 1
                state.unfinishedFile = state.unfinishedFile ?? asset.key
            }
            return asset
        }
        return add(Self.read(file), to: asset)
    }

    /// Asks a bucket, some objects at a time.
    private func offer(
        _ assets: [AssetSubmission], in storage: S3Storage
    ) async throws(Failure) -> [AssetSubmission] {
        let results = await withTaskGroup(of: (Int, Result<FoundFile?, Failure>).self) { group in
            var found: [(Int, Result<FoundFile?, Failure>)] = []
            var running = 0
            for (index, asset) in assets.enumerated()
            where asset.kind == .file && !Self.isCompared(asset) {
                if running == Self.requestsAtATime, let next = await group.next() {
                    found.append(next)
                    running -= 1
                }
                running += 1
                group.addTask { (index, await Self.foundFile(asset.key, in: storage)) }
            }
            for await next in group { found.append(next) }
            return found
        }
        var offered = assets
        for (index, found) in results {
            offered[index] = add(try found.get(), to: offered[index])
        }
        return offered
    }

    /// Apart from its task: where Swift 6.3 optimizes, it may lose the results of tasks that return
    /// `(index, .success(try await …))`.
    private static func foundFile(
        _ key: String, in storage: S3Storage
    ) async -> Result<FoundFile?, Failure> {
        do throws(Failure) {
            return .success(try await storage.foundFile(key: key))
        } catch {
            return .failure(error)
        }
    }

    private static let requestsAtATime = 16

    private static func isCompared(_ asset: AssetSubmission) -> Bool {
        asset.sha256 != nil || asset.digests != nil
    }

    /// Adds a file about which the origin is asked.
    private func add(_ found: FoundFile?, to asset: AssetSubmission) -> AssetSubmission {
        guard let found, asset.bytes == nil || asset.bytes == found.bytes else { return asset }
        var asset = asset
        asset.found = found
        state.withLock { _ = $0.asked.insert(asset.name.hashValue) }
        return asset
    }

    /// Returns a regular file, without following a symlink beneath the directory.
    private static func open(_ path: String, in directory: String) -> FileDescriptor? {
        guard let root = try? FileDescriptor.openLocation(directory),
            let file = try? root.open(path, O_RDONLY | O_NONBLOCK),
            (try? file.status())?.kind == .regular
        else { return nil }
        return file
    }

    private static func isUnfinished(_ path: String, in directory: String) -> Bool {
        guard let root = try? FileDescriptor.openLocation(directory) else { return false }
        return ControlFile.isBeside(path, in: root)
    }

    /// Reads a file for its digest; nil if it cannot be read, or changes meanwhile.
    private static func read(_ file: FileDescriptor) -> FoundFile? {
        guard let before = try? file.status(), before.bytes >= 0 else { return nil }
        var hasher = SHA256Hasher()
        var bytes: Int64 = 0
        do throws(SystemError) {
            try forEachBlock(of: file) { (block) throws(SystemError) in
                hasher.update(block)
                bytes += Int64(block.count)
            }
        } catch { return nil }
        guard let after = try? file.status(), after.modifiedSeconds == before.modifiedSeconds,
            bytes == after.bytes, after.modifiedSeconds >= 1
        else { return nil }
        return FoundFile(
            bytes: bytes, sha256: hasher.finish().description,
            modified: Int64(after.modifiedSeconds))
    }

    private static func forEachBlock(
        of file: FileDescriptor,
        _ body: (UnsafeRawBufferPointer) throws(SystemError) -> Void
    ) throws(SystemError) {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)
        defer { block.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try file.read(into: block, at: offset)
            guard count > 0 else { return }
            try body(UnsafeRawBufferPointer(rebasing: block[..<count]))
            offset += Int64(count)
        }
    }

    // MARK: Copies

    /// Copies a file that lies elsewhere to its key, if it has the digest of the list. A mirror may
    /// lack the directory of the host.
    private func copy(
        _ asset: AssetSubmission, from directory: String, to site: String
    ) {
        let path = String(asset.key.drop { $0 != "/" }.dropFirst())
        for key in [asset.key, path] {
            guard !key.isEmpty, let source = Self.open(key, in: directory) else { continue }
            guard let sha256 = asset.sha256 else {
                return state.withLock { $0.undescribed += 1 }
            }
            do throws(SystemError) {
                // What the copy has is compared: the mirror may change meanwhile.
                guard try copy(source, to: asset.key, in: site, sha256) else { continue }
                return state.withLock { $0.copied += 1 }
            } catch {
                return state.withLock { $0.uncopied += 1 }
            }
        }
    }

    /// Returns false if the file has another digest. The copy has no name before it is compared.
    private func copy(
        _ source: FileDescriptor, to key: String, in site: String, _ sha256: String
    ) throws(SystemError) -> Bool {
        var parent = try FileDescriptor.makeDirectories(site, mode: 0o755)
        let copy = try parent.createUnnamed()
        var hasher = SHA256Hasher()
        var offset: Int64 = 0
        try Self.forEachBlock(of: source) { (block) throws(SystemError) in
            hasher.update(block)
            try copy.write(block, at: offset)
            offset += Int64(block.count)
        }
        guard hasher.finish().description == sha256 else { return false }
        try copy.setPermissions(0o644)
        var components = key.split(separator: "/").map(String.init)
        let name = components.removeLast()
        for component in components {
            _ = try parent.makeDirectory(named: component, mode: 0o755)
            parent = try parent.openDirectory(component)
        }
        try copy.link(to: parent, named: name)
        return true
    }

    // MARK: The result

    /// Describes how many files were adopted by each method, and how many were fetched; of titles their
    /// bytes.
    func result(
        of catalog: CatalogID, _ client: CoordinatorClient
    ) async throws(Failure) -> String {
        let state = state.withLock { $0 }
        var counts = AdoptionCounts()
        var after: String?
        repeat {
            let page = try await client.assets(of: catalog, after: after, state: .completed)
            for asset in page.assets {
                counts.add(asset, wasAsked: state.asked.contains(asset.name.hashValue))
            }
            after = page.next
        } while after != nil
        var text = counts.text
        if state.copied > 0 { text += "\(HumanFormat.count(state.copied, "file")) copied\n" }
        if state.undescribed > 0 {
            text +=
                "\(HumanFormat.count(state.undescribed, "file")) lay elsewhere than at their keys and "
                + "had to be fetched, because the list has no SHA-256 of them; add digests to the list, or "
                + "let DIR be the site with its files at HOST/PATH\n"
        }
        if let file = state.unfinishedFile {
            text +=
                "\(HumanFormat.count(state.unfinished, "file")) had to be fetched, because aria2 had not "
                + "completed the download. First: \(printable(file)) (see \(ControlFile.suffix) beside it)\n"
        }
        if state.uncopied > 0 {
            text +=
                "\(HumanFormat.count(state.uncopied, "file")) could not be copied into the site and "
                + "had to be fetched\n"
        }
        return text
    }
}
