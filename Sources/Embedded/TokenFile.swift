import Glibc
package import Model
import Runtime

/// The token of a state directory: one line in a file that its owner alone can read.
package struct TokenFile: Sendable, Equatable {
    package let path: String

    /// Reads the token. Throws `input.token` where somebody else may know or have chosen it.
    package func read() throws(Failure) -> AccessToken {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw refusal(
                errno == ELOOP ? "is a symbolic link" : "cannot be read: \(systemErrorText(errno))")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw refusal("is no regular file")
        }
        guard status.st_uid == geteuid() else {
            throw refusal("belongs to the user \(ServerUser.accountName(of: status.st_uid))")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw refusal(
                "has mode \(String(status.st_mode & 0o7777, radix: 8)), so that others may know it")
        }
        var buffer = [UInt8](repeating: 0, count: AccessToken.maximumLength + 2)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count >= 0 else { throw refusal("cannot be read: \(systemErrorText(errno))") }
        let text = String(decoding: buffer[..<count], as: UTF8.self)
        do {
            return try AccessToken(text.hasSuffix("\n") ? String(text.dropLast()) : text)
        } catch {
            throw refusal("holds no token. \(error.message)")
        }
    }

    /// Reads the token, or makes one at the first start. Only for whoever holds the state's lock.
    package func readOrMake() throws(Failure) -> AccessToken {
        var status = stat()
        if lstat(path, &status) == 0 { return try read() }
        guard errno == ENOENT else { throw StateDirectory.failure("open \(path)", errno) }
        let token = AccessToken.random()
        try write(token)
        return token
    }

    /// Writes beside the file and links it, so that there is a whole token or none.
    private func write(_ token: AccessToken) throws(Failure) {
        let fresh = "\(path).new"
        unlink(fresh)
        defer { unlink(fresh) }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let descriptor = open(fresh, flags, 0o600)
        guard descriptor >= 0 else { throw StateDirectory.failure("make \(fresh)", errno) }
        defer { close(descriptor) }
        let line = Array("\(token.text)\n".utf8)
        guard Glibc.write(descriptor, line, line.count) == line.count, fsync(descriptor) == 0
        else { throw StateDirectory.failure("write \(fresh)", errno) }
        guard link(fresh, path) == 0 else { throw StateDirectory.failure("make \(path)", errno) }
    }

    private func refusal(_ reason: String) -> Failure {
        Failure(
            "input.token",
            "The token file \(path) \(reason). Remove it, and the next start makes another, which "
                + "workers and clients then need; or set DRAY_TOKEN_FILE to a file of your own.")
    }
}
