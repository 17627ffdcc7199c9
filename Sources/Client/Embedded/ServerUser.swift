import Glibc
import Model
import Services

/// Who the PostgreSQL server runs as: PostgreSQL refuses root, so under root it is `dray-postgres`.
///
/// A user of its own, not `postgres`: administrators of another server of the machine have no rights here.
struct ServerUser: Sendable, Equatable {
    let name: String
    let uid: uid_t
    let gid: gid_t
    /// True when it is not the user that Dray runs as.
    let isOther: Bool

    /// The user that the server runs as under root.
    static let serverName = "dray-postgres"

    /// The user for this process; makes `dray-postgres` where Dray is root and there is none. Throws
    /// `cluster.postgresFailed` when that cannot be.
    static func current() async throws(Failure) -> ServerUser {
        guard geteuid() == 0 else {
            return ServerUser(
                name: accountName(of: geteuid()), uid: geteuid(), gid: getegid(), isOther: false)
        }
        if let user = named(serverName) { return user }
        let making =
            "/usr/sbin/useradd --system --user-group --no-create-home --home-dir /nonexistent "
            + "--shell /usr/sbin/nologin \(serverName)"
        // Of two useradd at a time each may succeed, and the later one's user replaces the other's.
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
            "cluster.postgresFailed",
            "PostgreSQL does not run as root, and the user \(serverName) to run it as "
                + "could not be created; run dray as an ordinary user, or: \(making)")
    }

    /// nil where there is none, or it is root by another name.
    private static func named(_ name: String) -> ServerUser? {
        guard let account = account(named: name), account.user != 0 else { return nil }
        return ServerUser(name: name, uid: account.user, gid: account.group, isOther: true)
    }

    /// Runs a program as this user to its end; its exit status.
    func run(_ arguments: [String], output: Int32) async throws(Failure) -> Int32 {
        do {
            return try await Subprocess.run(command(arguments), output: output)
        } catch {
            throw Failure("cluster.postgresFailed", error.description)
        }
    }

    /// Starts a program as this user; its process id.
    func spawn(_ arguments: [String], output: Int32) throws(Failure) -> Int32 {
        do {
            return try Subprocess.spawn(command(arguments), output: output)
        } catch {
            throw Failure("cluster.postgresFailed", error.description)
        }
    }

    /// setpriv replaces itself with the program, so the process id stays the program's own.
    private func command(_ arguments: [String]) -> [String] {
        guard isOther else { return arguments }
        return ["setpriv", "--reuid=\(uid)", "--regid=\(gid)", "--init-groups", "--"] + arguments
    }
}
