import Glibc
import Model
import Runtime

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
        Self.write("\(getpid())\n\(coordinatorURL)\n", to: lock)
        let code = FileLock.take(lock)
        guard code == 0 else { throw Self.failure("lock \(path)/lock", code) }
    }

    /// The cluster that runs in a directory and has announced itself; nil for none.
    ///
    /// Nobody else could have announced it: the file belongs to this process's user, and the lock goes with
    /// the process that holds it. A token is thus sent to no stranger that has taken over a port.
    package static func running(in path: String) -> RunningCluster? {
        let descriptor = Glibc.open("\(path)/lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), FileLock.isHeld(descriptor)
        else { return nil }
        let lines = text(of: descriptor).split(separator: "\n")
        guard lines.count == 2 else { return nil }
        return RunningCluster(coordinatorURL: String(lines[1]), tokenFile: tokenFile(of: path))
    }

    /// What `lock` says: a process id and, of a cluster that was announced, its URL; a line each.
    static func text(of lock: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = pread(lock, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
