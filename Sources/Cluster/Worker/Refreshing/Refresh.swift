import API
import Model
import Storage
import Synchronization

/// A leased refresh of one asset.
struct Refresh: Sendable {
    var work: Leased<AssetSource>
    /// Bytes that had been stored when the lease was requested.
    var ended: [SiteID: Int64]
}

/// One attempt at a refresh: its storage and the space that its files use.
final class RefreshAttempt: Sendable {
    let work: Leased<AssetSource>
    let storage: SiteStorage
    private let held: HeldWork
    /// Bytes of each file by index, and their sum.
    private let begun = Mutex<(files: [Int: Int64], sum: Int64)>(([:], 0))

    init(_ work: Leased<AssetSource>, _ storage: SiteStorage, held: HeldWork) {
        self.work = work
        self.storage = storage
        self.held = held
    }

    var job: Job { work.job }
    var lease: LeaseID { work.lease }
    var source: AssetSource { work.task }
    var isWanted: Bool { held.isWanted(work.work) }
    var isHeld: Bool { held.isHeld(work.lease) }

    /// Records the size of a file.
    func begin(_ bytes: Int64, _ index: Int) {
        begun.withLock { begun in
            begun.sum += bytes - (begun.files.updateValue(bytes, forKey: index) ?? 0)
            held.setBegun(begun.sum, of: work.work)
        }
    }
}
