import Glibc
package import Model
import Runtime

/// The directory that an embedded cluster keeps between runs, locked for one Dray at a time.
///
/// `lock`, `token` and `postgresql.log` belong to the user that runs Dray; `postgresql/`, with the data
/// and the socket, to the user that the server runs as, closed to everybody else. The lock is given
/// back when the object goes away, or the process ends however it ends.
package final class StateDirectory: Sendable {
    /// Absolute, without symlinks.
    package let path: String
    let user: ServerUser
    /// Of the file `lock`, opened for reading and writing.
    let lock: Int32
    /// stdout and stderr of the server; opened for appending.
    let log: Int32

    var serverDirectory: String { "\(path)/postgresql" }
    var dataDirectory: String { "\(path)/postgresql/data" }
    package var logPath: String { "\(path)/postgresql.log" }
    package var tokenFile: TokenFile { Self.tokenFile(of: path) }

    static func tokenFile(of path: String) -> TokenFile { TokenFile(path: "\(path)/token") }

    /// Where state goes when nothing is said: `/var/lib/dray` for root, because the server's user
    /// has to reach it; else `$XDG_STATE_HOME/dray`, which is `~/.local/state/dray` by default.
    package static func defaultPath(environment: [String: String]) throws(Failure) -> String {
        if geteuid() == 0 { return "/var/lib/dray" }
        // The XDG Base Directory Specification has relative paths ignored.
        if let home = environment["XDG_STATE_HOME"], home.hasPrefix("/") { return "\(home)/dray" }
        if let home = environment["HOME"], home.hasPrefix("/") {
            return "\(home)/.local/state/dray"
        }
        throw Failure(
            "input.usage", "there is no HOME to keep the state under; name a directory by --state")
    }

    /// Whether a private cluster was made there.
    package static func isUsed(_ path: String) -> Bool { access("\(path)/postgresql", F_OK) == 0 }

    /// Makes the directory when it is missing, and locks it.
    ///
    /// Throws `cluster.stateInUse` with the process id when another Dray has it,
    /// `input.destination` when it belongs to somebody else or the server's user could not work in it,
    /// `cluster.postgresFailed` when there is no such user.
    package static func open(_ path: String) async throws(Failure) -> StateDirectory {
        let state = try StateDirectory(path, user: try await ServerUser.current())
        try await state.prepareServerDirectory()
        return state
    }

    private init(_ given: String, user: ServerUser) throws(Failure) {
        self.user = user
        path = try Self.makeDirectory(given, isForOther: user.isOther)
        try Self.checkOwner(of: path)
        lock = try Self.takeLock("\(path)/lock", of: path)
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW
        log = Glibc.open("\(path)/postgresql.log", flags, 0o600)
        // Everything is initialized here, so deinit gives the lock back.
        guard log >= 0 else { throw Self.failure("open \(path)/postgresql.log", errno) }
    }

    deinit {
        close(log)
        close(lock)
    }

    /// `mkdir -p`, then the path without symlinks.
    private static func makeDirectory(
        _ given: String, isForOther: Bool
    ) throws(Failure) -> String {
        var path = given.hasPrefix("/") ? "" : "."
        let components = given.split(separator: "/", omittingEmptySubsequences: true)
        for (index, component) in components.enumerated() {
            path += (path.isEmpty || path != "." ? "/" : "/") + component
            // Under root the server's user has to pass through, and needs no more.
            let isLast = index == components.count - 1
            let mode: mode_t = !isLast ? 0o755 : isForOther ? 0o711 : 0o700
            if mkdir(path, mode) != 0, errno != EEXIST { throw failure("make \(path)", errno) }
        }
        guard let resolved = realpath(path.isEmpty ? "/" : path, nil) else {
            throw failure("open \(given)", errno)
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Who may write to the directory could put another token or database there.
    private static func checkOwner(of path: String) throws(Failure) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure("open \(path)", errno) }
        guard status.st_uid == geteuid() else {
            throw Failure(
                "input.destination",
                "the state \(path) belongs to the user \(ServerUser.accountName(of: status.st_uid)); "
                    + "run dray as that user, or use another --state")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw Failure(
                "input.destination",
                "others may write to the state \(path) (mode "
                    + "\(String(status.st_mode & 0o7777, radix: 8))); use another --state, or, if nobody "
                    + "else has, run: chmod go-w '\(path)'")
        }
    }

    private static func takeLock(_ lockPath: String, of path: String) throws(Failure) -> Int32 {
        let lock = Glibc.open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw failure("open \(lockPath)", errno) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(lock) }
            guard errno == EWOULDBLOCK else { throw failure("lock \(lockPath)", errno) }
            let holder = text(of: lock).prefix { ("0"..."9").contains($0) }
            throw Failure(
                "cluster.stateInUse",
                "the state \(path) is in use by "
                    + (holder.isEmpty ? "another dray" : "the dray with process id \(holder)"))
        }
        // Only for the message above; the lock itself is what counts.
        write("\(getpid())\n", to: lock)
        return lock
    }

    static func write(_ text: String, to lock: Int32) {
        let bytes = Array(text.utf8)
        ftruncate(lock, 0)
        pwrite(lock, bytes, bytes.count, 0)
    }

    /// Makes `postgresql/` for the server's user alone, and checks that this user gets there.
    private func prepareServerDirectory() async throws(Failure) {
        if mkdir(serverDirectory, 0o700) == 0 {
            guard !user.isOther || lchown(serverDirectory, user.uid, user.gid) == 0 else {
                throw Self.failure("give \(serverDirectory) to \(user.name)", errno)
            }
        } else if errno != EEXIST {
            throw Self.failure("make \(serverDirectory)", errno)
        }
        var status = stat()
        guard lstat(serverDirectory, &status) == 0 else {
            throw Self.failure("open \(serverDirectory)", errno)
        }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == user.uid else {
            let owner = ServerUser.accountName(of: status.st_uid)
            // Versions before ran the server as `postgres`.
            let change =
                user.isOther && status.st_mode & S_IFMT == S_IFDIR
                ? "; if it is Dray's own and no server runs on it, run: "
                    + "chown -R \(user.name): '\(serverDirectory)'" : ""
            throw Failure(
                "input.destination",
                "\(serverDirectory) belongs to \(owner), and the server would run as "
                    + "\(user.name); use another --state, or run dray as before\(change)")
        }
        guard user.isOther else { return }
        try openForTraversal()
        // The user itself is asked, for groups and access lists count as much as mode bits.
        let test = ["test", "-w", serverDirectory, "-a", "-x", serverDirectory]
        guard try await user.run(test, output: log) == 0 else {
            throw Failure(
                "input.destination",
                "the user \(user.name), which PostgreSQL runs as under root, cannot reach "
                    + "\(path); use a --state below directories that everybody can enter")
        }
    }

    /// Lets the server's user pass through a state directory that is root's own, `mktemp -d`'s say.
    private func openForTraversal() throws(Failure) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Self.failure("open \(path)", errno) }
        guard status.st_uid == geteuid(), status.st_mode & 0o001 == 0 else { return }
        guard chmod(path, (status.st_mode & 0o7777) | 0o011) == 0 else {
            throw Self.failure("change the mode of \(path)", errno)
        }
    }

    static func failure(_ action: String, _ code: Int32) -> Failure {
        Failure("input.destination", "cannot \(action): \(systemErrorText(code))")
    }
}
