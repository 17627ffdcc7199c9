import FileSystem
import Glibc
import Model
import Services

extension StateDirectory {
    /// A cluster that runs in a state directory, and lets its owner's commands ask it.
    package struct RunningCluster: Sendable, Equatable {
        package var coordinatorURL: String
        /// Where the token is that its coordinator wants, unless it was given one.
        package var tokenFile: TokenFile
    }

    /// Writes behind the process id in `lock` where the coordinator listens; holds until this process ends.
    ///
    /// A lock of a second kind says that it is so: whoever looks at it does not have to take it, and so
    /// keeps no other Dray from starting.
    func announce(_ coordinatorURL: String) throws(Failure) {
        Self.write("\(getpid())\n\(coordinatorURL)\n", to: lockDescriptor)
        let code = FileLock.take(lockDescriptor)
        guard code == 0 else { throw Self.failure("lock \(path)/lock", code) }
    }

    /// The cluster that runs in a directory and has announced itself; nil for none.
    ///
    /// Nobody else could have announced it: the file belongs to this process's user, and the lock goes with
    /// the process that holds it. A token is thus sent to no stranger that has taken over a port.
    package static func running(in path: String) -> RunningCluster? {
        guard let directory = try? FileDescriptor.openLocation(path),
            let lock = try? directory.open("lock", O_RDONLY | O_NONBLOCK),
            let status = try? lock.status(), status.kind == .regular, status.owner == geteuid(),
            FileLock.isHeld(lock.rawValue)
        else { return nil }
        let lines = text(of: lock.rawValue).split(separator: "\n")
        guard lines.count == 2 else { return nil }
        return RunningCluster(
            coordinatorURL: String(lines[1]), tokenFile: TokenFile(in: directory, of: path))
    }

    /// What `lock` says: a process id and, of a cluster that was announced, its URL; a line each.
    static func text(of lock: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = pread(lock, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
