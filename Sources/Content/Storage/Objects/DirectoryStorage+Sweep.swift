internal import FileSystem
internal import Glibc
package import Model
import Synchronization

/// The result of one sweep.
package struct SweepOutcome: Sendable, Hashable {
    /// Number of removed files.
    package var removed = 0
    /// True if this sweep and the ones before it have checked every file.
    package var isWhole = true
}

extension DirectoryStorage {
    /// Removes abandoned temporary objects, multipart files and records of partial bodies.
    ///
    /// A file is abandoned if it was not written to for `seconds`. On a local file system, a
    /// temporary object is abandoned sooner, if all of this holds: No process has it open for
    /// writing. No record names it as the start of a body. No refresh has staged it. It was last
    /// changed more than `unownedSeconds` ago. Ages are by the file system's own clock, which may
    /// be another machine's. Several workers may sweep at once.
    ///
    /// - Parameters:
    /// - seconds: Must be much longer than a lease, and for multipart files longer than a catalog
    ///   may be inactive.
    /// - unownedSeconds: Must be longer than the pause between two writes of older workers that
    ///   take no locks.
    /// - most: Maximum number of files to check in each directory; the next sweep continues after
    ///   them.
    package func sweepTemporaries(
        olderThanSeconds seconds: Double, unownedSeconds: Double = 60, most: Int = .max
    ) throws(Failure) -> SweepOutcome {
        let site = try verifiedDirectories()
        let now = try SiteDirectories.probe(in: site.temporary).modifiedSeconds
        var outcome = SweepOutcome()
        let owners = try ownersOfTemporaries(in: site)
        for (index, directory) in [site.temporary, site.multipart, site.partial].enumerated() {
            let names = try asFailure { () throws(SystemError) in try directory.names() }
            let (turn, isWhole) = sweepPositions.turn(of: names, inDirectory: index, most: most)
            if !isWhole { outcome.isWhole = false }
            for name in turn {
                guard let status = try? directory.status(of: name), status.kind == .regular else {
                    continue
                }
                let isOld = now - status.modifiedSeconds > seconds
                // A rename changes the status, which gives a new owner time to lock the file.
                let isUnowned =
                    index == 0 && !isOld && now - status.changedSeconds > unownedSeconds
                    && owners?.mayRemove(name, in: directory) == true
                guard isOld || isUnowned else { continue }
                // A missing file was swept by another worker, or committed.
                if (try? directory.unlink(name)) != nil { outcome.removed += 1 }
            }
        }
        return outcome
    }

    /// Returns nil on a network, where locks may hold on one machine only.
    private func ownersOfTemporaries(in site: SiteDirectories) throws(Failure) -> TemporaryOwners? {
        try asFailure { () throws(SystemError) in
            guard try !site.temporary.isOnNetwork() else { return nil }
            return TemporaryOwners(records: try site.partial.names())
        }
    }
}

/// The owners of temporary objects. A value.
private struct TemporaryOwners {
    /// Names of the temporary objects of recorded partial bodies.
    private let recorded: Set<Substring>

    init(records: [String]) {
        recorded = Set(records.map { $0.dropFirst(PartialIdentity.nameBytes + 1) })
    }

    /// Returns true for a temporary object without a record and without a writer that no refresh
    /// has staged.
    func mayRemove(_ name: String, in directory: FileDescriptor) -> Bool {
        guard !recorded.contains(name[...]), !PrivateName.isNumbered(name),
            let file = try? directory.open(name, O_RDONLY | O_NONBLOCK)
        else { return false }
        return file.tryLock()
    }
}

/// The progress of sweeps in each of Dray's own directories. Safe from any thread.
struct SweepPositions: ~Copyable, Sendable {
    private let positions = Mutex([SweepPosition](repeating: SweepPosition(), count: 3))

    /// Returns the names to check now, and true if they are the last ones.
    func turn(
        of names: [String], inDirectory index: Int, most: Int
    ) -> (names: [String], isWhole: Bool) {
        positions.withLock { $0[index].turn(of: names, most: most) }
    }
}

/// The progress of sweeps in a directory. A value.
private struct SweepPosition {
    /// The last checked name; empty at the start.
    private var last = ""

    /// Returns the names to check now, and true if they are the last ones.
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
