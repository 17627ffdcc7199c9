internal import FileSystem
package import Model
import Synchronization

/// What one sweep came to.
package struct SweepOutcome: Sendable, Hashable {
    /// Files removed.
    package var removed = 0
    /// Every file has been looked at, by this sweep and those before it.
    package var isWhole = true
}

extension DirectoryStorage {
    /// Removes temporary objects, assemblies and records of partial bodies that nobody has written to
    /// for so long.
    ///
    /// Ages are by the file system's own clock, which may be another machine's. Several workers may
    /// sweep at once.
    ///
    /// - Parameters:
    ///   - seconds: much longer than a lease, and for assemblies longer than a catalog may stand still.
    ///   - most: files of each directory that are looked at; the next sweep goes on behind them.
    package func sweepTemporaries(
        olderThanSeconds seconds: Double, most: Int = .max
    ) throws(Failure) -> SweepOutcome {
        let site = try verifiedDirectories()
        let now = try SiteDirectories.probe(in: site.temporary).modifiedSeconds
        var outcome = SweepOutcome()
        for (place, directory) in [site.temporary, site.assembly, site.partial].enumerated() {
            let names = try asFailure { () throws(SystemError) in try directory.names() }
            let (turn, isWhole) = sweepPlaces.withLock { $0[place].turn(of: names, most: most) }
            if !isWhole { outcome.isWhole = false }
            for name in turn {
                guard let status = try? directory.status(of: name), status.kind == .regular,
                    now - status.modifiedSeconds > seconds
                else { continue }
                // One that vanished meanwhile was swept by another worker, or committed.
                if (try? directory.unlink(name)) != nil { outcome.removed += 1 }
            }
        }
        return outcome
    }
}

/// How far the sweeps of a directory are. A value.
struct SweepPlace {
    /// The last name that was looked at; empty at the start.
    private var last = ""

    /// The names to look at now, and whether they are the last of all.
    mutating func turn(of names: [String], most: Int) -> (names: [String], isWhole: Bool) {
        let rest = names.filter { $0 > last }
        guard rest.count > most else {
            last = ""
            return (rest, true)
        }
        let turn = Array(rest.sorted().prefix(max(most, 1)))
        last = turn.last ?? ""
        return (turn, false)
    }
}
