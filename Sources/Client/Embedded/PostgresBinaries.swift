import Glibc
import Model
import Services

/// An installed PostgreSQL server.
struct PostgresBinaries: Sendable, Equatable {
    /// Directory with `initdb` and `postgres`.
    let directory: String
    let major: Int

    static let minMajor = 14

    /// Finds the server for a data directory of version `wanted`, or else the newest one.
    ///
    /// Searches Debian's directories, `pg_config --bindir` and PATH.
    static func find(
        wanted: Int?, environment: [String: String]
    ) async throws(Failure) -> PostgresBinaries {
        var found = debianServers()
        // Running programs costs milliseconds, which a warm start can save.
        if let match = found.first(where: { $0.major == wanted }) { return match }
        var directories = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        if let line = await Subprocess.output(of: ["pg_config", "--bindir"]) {
            directories.insert(line.filter { $0 != "\n" }, at: 0)
        }
        for directory in directories
        where directory.hasPrefix("/") && holdsServer(directory)
            && !found.contains(where: { $0.directory == directory })
        {
            guard
                let version = await Subprocess.output(of: ["\(directory)/postgres", "--version"]),
                let major = majorVersion(in: version)
            else { continue }
            found.append(PostgresBinaries(directory: directory, major: major))
        }
        if let wanted {
            if let match = found.first(where: { $0.major == wanted }) { return match }
            throw otherVersion(wanted, found)
        }
        let newest = found.max { $0.major < $1.major }
        guard let newest, newest.major >= minMajor else {
            throw Failure(
                .clusterPostgresFailed,
                "no PostgreSQL server of version \(minMajor) or later found (looked in "
                    + "/usr/lib/postgresql, pg_config --bindir and PATH); install the package "
                    + "postgresql, or set DRAY_COORDINATOR to use a cluster")
        }
        return newest
    }

    private static func otherVersion(_ wanted: Int, _ found: [PostgresBinaries]) -> Failure {
        let versions = Set(found.map(\.major)).sorted().map(String.init)
        let installed =
            versions.isEmpty
            ? "no PostgreSQL server is installed"
            : "only version \(versions.joined(separator: " and ")) is installed"
        return Failure(
            .clusterPostgresFailed,
            "the state's database is of PostgreSQL \(wanted), and \(installed); install "
                + "postgresql-\(wanted), or use another --state")
    }

    private static func debianServers() -> [PostgresBinaries] {
        let root = "/usr/lib/postgresql"
        return directoryNames(root).compactMap { name in
            let directory = "\(root)/\(name)/bin"
            guard let major = Int(name), holdsServer(directory) else { return nil }
            return PostgresBinaries(directory: directory, major: major)
        }
    }

    private static func holdsServer(_ directory: String) -> Bool {
        ["initdb", "postgres"].allSatisfy { access("\(directory)/\($0)", X_OK) == 0 }
    }

    /// Returns 15 for `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
    static func majorVersion(in text: String) -> Int? {
        let words = text.split { $0 == " " || $0 == "\n" }
        guard words.count > 2 else { return nil }
        return Int(words[2].prefix { $0.isNumber })
    }
}

/// Returns the names in a directory; none if it cannot be read.
func directoryNames(_ path: String) -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
            tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}
