internal import FileSystem
internal import Glibc
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
    /// Removes temporary objects, assemblies and records of partial bodies that are abandoned.
    ///
    /// Any file is abandoned that was not written to for `seconds`. On a local file system a temporary object is
    /// abandoned sooner: where no process has it open to write, no record names it as the start of a body, no refresh
    /// has staged it, and it was last changed more than `unownedSeconds` ago. Ages are by the file system's own clock, which may be another
    /// machine's. Several workers may sweep at once.
    ///
    /// - Parameters:
    ///   - seconds: much longer than a lease, and for assemblies longer than a catalog may stand still.
    ///   - unownedSeconds: longer than workers of a version that takes no locks pause between two writes.
    ///   - most: files of each directory that are looked at; the next sweep continues behind them.
    package func sweepTemporaries(
        olderThanSeconds seconds: Double, unownedSeconds: Double = 60, most: Int = .max
    ) throws(Failure) -> SweepOutcome {
        let site = try verifiedDirectories()
        let now = try SiteDirectories.probe(in: site.temporary).modifiedSeconds
        var outcome = SweepOutcome()
        let owners = try ownersOfTemporaries(in: site)
        for (place, directory) in [site.temporary, site.assembly, site.partial].enumerated() {
            let names = try asFailure { () throws(SystemError) in try directory.names() }
            let (turn, isWhole) = sweepPlaces.withLock { $0[place].turn(of: names, most: most) }
            if !isWhole { outcome.isWhole = false }
            for name in turn {
                guard let status = try? directory.status(of: name), status.kind == .regular else {
                    continue
                }
                let isOld = now - status.modifiedSeconds > seconds
                // A rename changes the status: who takes a file over has time to lock it.
                let isUnowned =
                    place == 0 && !isOld && now - status.changedSeconds > unownedSeconds
                    && owners?.mayRemove(name, in: directory) == true
                guard isOld || isUnowned else { continue }
                // One that vanished meanwhile was swept by another worker, or committed.
                if (try? directory.unlink(name)) != nil { outcome.removed += 1 }
            }
        }
        return outcome
    }

    /// Nil on a network, where a lock may hold on one machine alone.
    private func ownersOfTemporaries(in site: SiteDirectories) throws(Failure) -> TemporaryOwners? {
        try asFailure { () throws(SystemError) in
            guard try !site.temporary.isOnNetwork() else { return nil }
            return TemporaryOwners(records: try site.partial.names())
        }
    }
}

/// Which temporary objects belong to somebody. A value.
private struct TemporaryOwners {
    /// Names of the temporary objects that records of partial bodies are of.
    private let recorded: Set<Substring>

    init(records: [String]) {
        recorded = Set(records.map { $0.dropFirst(PartialIdentity.nameBytes + 1) })
    }

    /// True for a temporary object that is of no record, is not staged by a refresh, and has no writer.
    func mayRemove(_ name: String, in directory: FileDescriptor) -> Bool {
        guard !recorded.contains(name[...]), !PrivateName.isNumbered(name),
            let file = try? directory.open(name, O_RDONLY | O_NONBLOCK)
        else { return false }
        return file.tryLock()
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
