import FileSystem
import Glibc
package import Model
import Services

extension StateDirectory {
    /// A running cluster of a state directory that its owner's commands can use.
    package struct RunningCluster: Sendable, Equatable {
        package var coordinatorURL: String
        /// File of the coordinator's token, unless it was given one.
        package var tokenFile: TokenFile
        /// The token of a cluster that ends with a command; nil for `dray up`.
        package var runToken: AccessToken?
        /// Authorities of its certificate; nil for the system's, and for plain HTTP.
        package var caFile: String?

        package static func == (one: Self, other: Self) -> Bool {
            one.coordinatorURL == other.coordinatorURL && one.tokenFile == other.tokenFile
                && one.runToken?.text == other.runToken?.text && one.caFile == other.caFile
        }
    }

    /// Writes the coordinator's URL behind the process id in `lock`, until this process ends.
    ///
    /// - Parameters:
    ///   - runToken: the token of a cluster that ends with this command. It is of no use
    ///     afterwards; only this user can read the file.
    ///   - caFile: absolute path of the authorities of its certificate.
    ///
    /// A second kind of lock marks it as valid. Readers need not take that lock, so they do not
    /// block the start of another Dray.
    func announce(
        _ coordinatorURL: String, runToken: AccessToken? = nil, caFile: String? = nil
    ) throws(Failure) {
        // Created so, but perhaps changed since.
        if runToken != nil, fchmod(lockDescriptor, 0o600) != 0 {
            throw Self.failure("change the mode of \(path)/lock", errno)
        }
        let token = runToken.map { "\($0.text)\n" } ?? ""
        let authority = caFile.map { "\(Self.authorityKey)\($0)\n" } ?? ""
        Self.write(
            "\(getpid())\n\(coordinatorURL)\n\(token)\(authority)", to: lockDescriptor)
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
        var lines = text(of: lock.rawValue).split(separator: "\n")
        var caFile: String?
        if let last = lines.last, last.hasPrefix(authorityKey) {
            caFile = String(last.dropFirst(authorityKey.count))
            lines.removeLast()
        }
        guard (2...3).contains(lines.count) else { return nil }
        var running = RunningCluster(
            coordinatorURL: String(lines[1]), tokenFile: TokenFile(in: directory, of: path))
        running.caFile = caFile
        if lines.count == 3 {
            guard status.permissions & 0o077 == 0, let token = try? AccessToken(String(lines[2]))
            else { return nil }
            running.runToken = token
        }
        return running
    }

    /// Begins the line with a file of authorities; a token has no space.
    private static var authorityKey: String { "ca-file " }

    /// Reads `lock`: lines with a process id and, for an announced cluster, its URL, the token of this
    /// run and the authorities of its certificate.
    static func text(of lock: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 8_192)
        let count = pread(lock, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
