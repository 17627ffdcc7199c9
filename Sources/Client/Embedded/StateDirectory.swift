import FileSystem
import Glibc
package import Model
import Services

/// The directory that an embedded cluster keeps between runs, locked by one Dray at a time.
///
/// `lock`, `token` and `postgresql.log` belong to the user that runs Dray. `postgresql/`, with the
/// data and the socket, belongs to the server's user, and is closed to all others. The lock is
/// released with the object, or when the process ends in any way.
package final class StateDirectory: Sendable {
    /// Absolute path without symlinks.
    package let path: String
    let user: ServerUser
    /// The open directory, in which files are created and opened by name even if its path changes.
    private let directory: FileDescriptor
    /// The file `lock`, open for reading and writing.
    private let lock: FileDescriptor
    /// The server's stdout and stderr, open for appending.
    private let log: FileDescriptor

    var logDescriptor: Int32 { log.rawValue }
    var lockDescriptor: Int32 { lock.rawValue }

    var serverDirectory: String { "\(path)/postgresql" }
    var dataDirectory: String { "\(path)/postgresql/data" }
    package var logPath: String { "\(path)/postgresql.log" }
    package var tokenFile: TokenFile { TokenFile(in: directory, of: path) }

    /// Returns the default directory: `/var/lib/dray` for root, because the server's user must
    /// reach it; else `$XDG_STATE_HOME/dray`, which is `~/.local/state/dray` by default.
    package static func defaultPath(environment: [String: String]) throws(Failure) -> String {
        if geteuid() == 0 { return "/var/lib/dray" }
        // The XDG Base Directory Specification requires relative paths to be ignored.
        if let home = environment["XDG_STATE_HOME"], home.hasPrefix("/") { return "\(home)/dray" }
        if let home = environment["HOME"], home.hasPrefix("/") {
            return "\(home)/.local/state/dray"
        }
        throw Failure(
            .inputUsage, "HOME is not set, so there is no default state directory; use --state")
    }

    /// Returns true if a private cluster was created there.
    package static func isUsed(_ path: String) -> Bool { access("\(path)/postgresql", F_OK) == 0 }

    /// Creates the directory if it is missing, and locks it.
    ///
    /// Throws `cluster.stateInUse` with the process id if another Dray uses it, `input.destination`
    /// if it belongs to another user or the server's user cannot use it, and
    /// `cluster.postgresFailed` if that user does not exist.
    package static func open(_ path: String) async throws(Failure) -> StateDirectory {
        let state = try StateDirectory(path, user: try await ServerUser.current())
        try await state.prepareServerDirectory()
        return state
    }

    private init(_ given: String, user: ServerUser) throws(Failure) {
        self.user = user
        let (opened, path) = try Self.makeDirectory(given, isForOther: user.isOther)
        (directory, self.path) = (opened, path)
        lock = try Self.takeLock(in: opened, of: path)
        log = try Self.asFailure("open \(path)/postgresql.log") { () throws(SystemError) in
            try opened.open("postgresql.log", O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
        }
    }

    /// Creates the directory like `mkdir -p`; returns it with its path without symlinks. Users who
    /// may write to it could replace the token or the database, so the open directory is checked.
    private static func makeDirectory(
        _ given: String, isForOther: Bool
    ) throws(Failure) -> (FileDescriptor, String) {
        // Under root, the server's user must traverse it, and needs no more.
        let mode: UInt32 = isForOther ? 0o711 : 0o700
        let (location, status, path) = try asFailure("make \(given)") { () throws(SystemError) in
            let location = try FileDescriptor.makeDirectories(given, mode: mode)
            return (location, try location.status(), try location.path())
        }
        if let failure = foreign(path, status.owner) { throw failure }
        guard status.permissions & 0o022 == 0 else {
            throw Failure(
                .inputDestination,
                "others may write to the state \(path) (mode "
                    + "\(String(status.permissions, radix: 8))); use another --state, or, if no "
                    + "other user has changed it, run: chmod go-w '\(path)'")
        }
        let directory = try asFailure("open \(path)") { () throws(SystemError) in
            try location.openDirectory(".")
        }
        try checkContent(of: directory, path)
        return (directory, path)
    }

    /// Returns the failure for a directory of another user, whose cluster only that one can use; nil
    /// for this user's, and for one that cannot be read.
    package static func foreign(_ path: String) -> Failure? {
        guard let status = try? FileDescriptor.openLocation(path).status() else { return nil }
        return foreign(path, status.owner)
    }

    private static func foreign(_ path: String, _ owner: UInt32) -> Failure? {
        guard owner != geteuid() else { return nil }
        return Failure(
            .inputDestination,
            "the state \(path) belongs to the user \(accountName(of: owner)); run dray as that user, "
                + "or use another --state")
    }

    /// Names that make a directory a state directory; a start that failed may have left one of them.
    private static let ownNames = ["lock", "postgresql", "postgresql.log", "token"]

    /// Throws `input.destination` for a directory with files of others: a mistyped path would get a
    /// database beside them. Hidden files do not count, and neither does that of a new volume.
    private static func checkContent(
        of directory: FileDescriptor, _ path: String
    ) throws(Failure) {
        let names = try asFailure("read \(path)") { () throws(SystemError) in
            try directory.names()
        }
        let others = names.filter { !$0.hasPrefix(".") && $0 != "lost+found" }
        guard let other = others.min(), !others.contains(where: ownNames.contains) else { return }
        throw Failure(
            .inputDestination,
            "\(path) is not a state directory: it has other files, such as \(other.prefix(100)); use "
                + "--state with an empty or a new directory")
    }

    private static func takeLock(
        in directory: FileDescriptor, of path: String
    ) throws(Failure) -> FileDescriptor {
        let lock = try asFailure("open \(path)/lock") { () throws(SystemError) in
            try directory.open("lock", O_RDWR | O_CREAT, mode: 0o600)
        }
        guard flock(lock.rawValue, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw failure("lock \(path)/lock", errno) }
            let holder = text(of: lock.rawValue).prefix { ("0"..."9").contains($0) }
            throw Failure(
                .clusterStateInUse,
                "the state \(path) is in use by "
                    + (holder.isEmpty ? "another dray" : "the dray with process id \(holder)"))
        }
        // Only for the message above; the lock itself decides.
        write("\(getpid())\n", to: lock.rawValue)
        return lock
    }

    static func write(_ text: String, to lock: Int32) {
        let bytes = Array(text.utf8)
        ftruncate(lock, 0)
        pwrite(lock, bytes, bytes.count, 0)
    }

    /// Creates `postgresql/` for the server's user alone, and checks that this user can reach it.
    private func prepareServerDirectory() async throws(Failure) {
        let name = "postgresql"
        let isNew = try Self.asFailure("make \(serverDirectory)") { () throws(SystemError) in
            try directory.makeDirectory(named: name, mode: 0o700)
        }
        if isNew, user.isOther {
            let code = fchownat(
                directory.rawValue, name, user.uid, user.gid, AT_SYMLINK_NOFOLLOW)
            guard code == 0 else {
                throw Self.failure("give \(serverDirectory) to \(user.name)", errno)
            }
        }
        let status = try Self.asFailure("open \(serverDirectory)") { () throws(SystemError) in
            try directory.status(of: name)
        }
        guard status.kind == .directory, status.owner == user.uid else {
            let owner = accountName(of: status.owner)
            // Earlier versions ran the server as `postgres`.
            let change =
                user.isOther && status.kind == .directory
                ? "; if it is Dray's own and no server runs on it, run: "
                    + "chown -R \(user.name): '\(serverDirectory)'" : ""
            throw Failure(
                .inputDestination,
                "\(serverDirectory) belongs to \(owner), but the server would run as "
                    + "\(user.name); use another --state, or run dray as before\(change)")
        }
        guard user.isOther else { return }
        try openForTraversal()
        // Tested as that user, because groups and access lists count as much as mode bits.
        let test = ["test", "-w", serverDirectory, "-a", "-x", serverDirectory]
        guard try await user.run(test, output: log.rawValue) == 0 else {
            throw Failure(
                .inputDestination,
                "the user \(user.name), which PostgreSQL runs as under root, cannot "
                    + "reach \(path); use a --state whose parent directories every user can "
                    + "enter")
        }
    }

    /// Lets the server's user traverse a state directory of root, for example one of `mktemp -d`.
    private func openForTraversal() throws(Failure) {
        try Self.asFailure("change the mode of \(path)") { () throws(SystemError) in
            let status = try directory.status()
            guard status.owner == geteuid(), status.permissions & 0o001 == 0 else { return }
            try directory.setPermissions(status.permissions | 0o011)
        }
    }

    static func asFailure<Value>(
        _ action: String, _ body: () throws(SystemError) -> Value
    ) throws(Failure) -> Value {
        do throws(SystemError) { return try body() } catch { throw failure(action, error.code) }
    }

    static func failure(_ action: String, _ code: Int32) -> Failure {
        Failure(.inputDestination, "cannot \(action): \(systemErrorText(code))")
    }
}
