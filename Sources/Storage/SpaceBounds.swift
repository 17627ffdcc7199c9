internal import FileSystem
package import Model
import Synchronization

/// What of a site's room Dray leaves alone. Safe from any thread.
///
/// The floor is looked at before an object begins and while one grows; the file system itself says
/// when there is no room at all.
final class SpaceBounds: Sendable {
    private struct State {
        var floorBytes: Int64 = 0
        /// What the quota leaves for one object; nil for no quota.
        var quotaLeftBytes: Int64?
    }

    private let state = Mutex(State())

    /// How much is written between two looks at an object whose length was not reserved, in bytes.
    static let stepBytes = 16 << 20

    func set(floorBytes: Int64, quotaLeftBytes: Int64?) {
        state.withLock { $0 = State(floorBytes: floorBytes, quotaLeftBytes: quotaLeftBytes) }
    }

    /// Throws `storage.full` where `bytes` more would leave less than the floor, `storage.quota`
    /// where the quota has no room for them.
    func check(_ bytes: Int64, in directory: FileDescriptor) throws(Failure) {
        let bounds = state.withLock { $0 }
        if let left = bounds.quotaLeftBytes, bytes > left {
            throw Failure(
                "storage.quota", "\(bytes) bytes are to be stored; the quota leaves \(left)")
        }
        guard bounds.floorBytes > 0 || bytes >= Self.worthLooking else { return }
        let available = try asFailure { () throws(SystemError) in
            try directory.space().availableBytes
        }
        guard available - max(bytes, 0) >= bounds.floorBytes else {
            let floor = bounds.floorBytes > 0 ? "; \(bounds.floorBytes) are to stay free" : ""
            throw Failure(
                "storage.full",
                "\(max(bytes, 0)) bytes are to be stored, \(available) are free\(floor)")
        }
    }

    /// Smaller objects find out by their first write.
    static let worthLooking: Int64 = 1 << 20
}

extension DirectoryStorage {
    /// Sets what is left alone from now on.
    ///
    /// - Parameters:
    ///   - floorBytes: of the file system, for others; 0 for none.
    ///   - quotaLeftBytes: the longest object that may still begin; nil for no quota.
    package func setBounds(floorBytes: Int64, quotaLeftBytes: Int64?) {
        bounds.set(floorBytes: floorBytes, quotaLeftBytes: quotaLeftBytes)
    }

    /// Throws what storing `bytes` more would fail with, as far as that is known before.
    package func checkSpace(for bytes: Int64) throws(Failure) {
        try bounds.check(bytes, in: verifiedDirectories().root)
    }

    /// Throws what keeps the site from being written: writes a file of 1 MiB, makes it durable where
    /// objects are, and removes it.
    package func probe() throws(Failure) {
        let site = try verifiedDirectories()
        try bounds.check(0, in: site.root)
        _ = try SiteDirectories.probe(
            in: site.temporary, bytes: 1 << 20, isDurable: durability != .none)
    }
}
