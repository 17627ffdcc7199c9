import Glibc
import Model
import Services

/// The user that runs the PostgreSQL server: PostgreSQL does not run as root, so under root it is
/// `dray-postgres`.
///
/// It is not `postgres`, so that administrators of another server on the machine have no rights
/// here.
struct ServerUser: Sendable, Equatable {
    let name: String
    let uid: uid_t
    let gid: gid_t
    /// True if it is not the user that runs Dray.
    let isOther: Bool

    /// Name of the server's user under root.
    static let serverName = "dray-postgres"

    /// Returns the user for this process; creates `dray-postgres` if Dray runs as root and it is
    /// missing. Throws `cluster.postgresFailed` if that fails.
    static func current() async throws(Failure) -> ServerUser {
        guard geteuid() == 0 else {
            return ServerUser(
                name: accountName(of: geteuid()), uid: geteuid(), gid: getegid(), isOther: false)
        }
        if let user = named(serverName) { return user }
        let making =
            "/usr/sbin/useradd --system --user-group --no-create-home --home-dir /nonexistent "
            + "--shell /usr/sbin/nologin \(serverName)"
        // Two concurrent useradd may both succeed, and the later one's user replaces the other's.
        let locked = [
            "flock", "--close", "--timeout", "60", "/etc/.pwd.lock", "sh", "-c",
            "getent passwd \(serverName) >/dev/null || \(making)",
        ]
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(null) }
        let status = try? await Subprocess.run(locked, output: null)
        if status == 0, let user = named(serverName) {
            Logger("postgresql").warning(
                "created a system user for PostgreSQL, which does not run as root",
                ["user": serverName])
            return user
        }
        throw Failure(
            .clusterPostgresFailed,
            "PostgreSQL does not run as root, and the user \(serverName) to run it as "
                + "could not be created; run dray as an ordinary user, or: \(making)")
    }

    /// Returns a user; nil if it does not exist, or has root's id.
    private static func named(_ name: String) -> ServerUser? {
        guard let account = account(named: name), account.user != 0 else { return nil }
        return ServerUser(name: name, uid: account.user, gid: account.group, isOther: true)
    }

    /// Runs a program as this user to its end; returns its exit status.
    func run(_ arguments: [String], output: Int32) async throws(Failure) -> Int32 {
        do {
            return try await Subprocess.run(command(arguments), output: output)
        } catch {
            throw Failure(.clusterPostgresFailed, error.description)
        }
    }

    /// Starts a program as this user.
    func spawn(_ arguments: [String], output: Int32) throws(Failure) -> Subprocess.Child {
        do {
            return try Subprocess.spawn(command(arguments), output: output)
        } catch {
            throw Failure(.clusterPostgresFailed, error.description)
        }
    }

    /// Returns the command; setpriv executes the program in its own process, so the process id
    /// stays.
    private func command(_ arguments: [String]) -> [String] {
        guard isOther else { return arguments }
        return ["setpriv", "--reuid=\(uid)", "--regid=\(gid)", "--init-groups", "--"] + arguments
    }
}
