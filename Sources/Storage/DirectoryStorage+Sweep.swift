internal import FileSystem
package import Model

extension DirectoryStorage {
    /// Removes temporary objects, assemblies and records of partial bodies that nobody has written to
    /// for so long; answers how many.
    ///
    /// Ages are by the file system's own clock, which may be another machine's. Several workers may
    /// sweep at once.
    ///
    /// - Parameter seconds: much longer than a lease, and for assemblies longer than a catalog may
    ///   stand still.
    package func sweepTemporaries(olderThanSeconds seconds: Double) throws(Failure) -> Int {
        let site = try verifiedDirectories()
        let now = try SiteDirectories.probe(in: site.temporary)
        var removed = 0
        for directory in [site.temporary, site.assembly, site.partial] {
            let names = try asFailure { () throws(SystemError) in try directory.names() }
            for name in names {
                guard let status = try? directory.status(of: name), status.kind == .regular,
                    now - status.modifiedSeconds > seconds
                else { continue }
                // One that vanished meanwhile was swept by another worker, or committed.
                if (try? directory.unlink(name)) != nil { removed += 1 }
            }
        }
        return removed
    }
}
