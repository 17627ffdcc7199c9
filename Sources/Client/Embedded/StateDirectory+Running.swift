import FileSystem
import Glibc
import Model
import Services

extension StateDirectory {
    /// A running cluster of a state directory that its owner's commands can use.
    package struct RunningCluster: Sendable, Equatable {
        package var coordinatorURL: String
        /// File of the coordinator's token, unless it was given one.
        package var tokenFile: TokenFile
    }

    /// Writes the coordinator's URL behind the process id in `lock`, until this process ends.
    ///
    /// A second kind of lock marks it as valid. Readers need not take that lock, so they do not
    /// block the start of another Dray.
    func announce(_ coordinatorURL: String) throws(Failure) {
        Self.write("\(getpid())\n\(coordinatorURL)\n", to: lockDescriptor)
        let code = FileLock.take(lockDescriptor)
        guard code == 0 else { throw Self.failure("lock \(path)/lock", code) }
    }

    /// Returns the cluster that runs in a directory and announced itself; nil for none.
    ///
    /// Only this user can have announced it: the file belongs to this process's user, and the lock
    /// ends with the process that holds it. So no token is sent to a stranger that took over a
    /// port.
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

    /// Reads `lock`: lines with a process id and, for an announced cluster, its URL.
    static func text(of lock: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = pread(lock, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
