import Glibc
import Model
import Runtime

/// Who the PostgreSQL server runs as: PostgreSQL refuses root, so under root it is `postgres`.
struct ServerUser: Sendable, Equatable {
    let name: String
    let uid: uid_t
    let gid: gid_t
    /// True when it is not the user that Dray runs as.
    let isOther: Bool

    /// The user for this process; throws when Dray is root and there is no user `postgres`.
    static func current() throws(Failure) -> ServerUser {
        guard geteuid() == 0 else {
            return ServerUser(
                name: accountName(of: geteuid()), uid: geteuid(), gid: getegid(), isOther: false)
        }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        getpwnam_r("postgres", &entry, &buffer, buffer.count, &found)
        guard found != nil else {
            throw Failure(
                "cluster.postgresFailed",
                "PostgreSQL does not run as root, and there is no user 'postgres' to run it as; "
                    + "install the package postgresql, or run dray as an ordinary user")
        }
        return ServerUser(name: "postgres", uid: entry.pw_uid, gid: entry.pw_gid, isOther: true)
    }

    static func accountName(of uid: uid_t) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        getpwuid_r(uid, &entry, &buffer, buffer.count, &found)
        guard found != nil, let name = entry.pw_name else { return String(uid) }
        return String(cString: name)
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
