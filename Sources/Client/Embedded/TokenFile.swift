import FileSystem
import Glibc
package import Model
import Services

/// The token of a state directory: one line in a file that only its owner can read.
package struct TokenFile: Sendable, Equatable {
    package let path: String
    private let directory: FileDescriptor
    private static let name = "token"

    /// - Parameter path: path of the directory, for messages and other processes.
    init(in directory: FileDescriptor, of path: String) {
        self.directory = directory
        self.path = "\(path)/\(Self.name)"
    }

    package static func == (one: TokenFile, other: TokenFile) -> Bool { one.path == other.path }

    /// Reads the token. Throws `input.token` if another user may know it or have chosen it.
    package func read() throws(Failure) -> AccessToken {
        guard let token = try readIfThere() else {
            throw rejection("cannot be read: \(systemErrorText(ENOENT))")
        }
        return token
    }

    /// Reads the token, or creates one at the first start. The caller must hold the state's lock.
    package func readOrMake() throws(Failure) -> AccessToken {
        if let token = try readIfThere() { return token }
        let token = AccessToken.random()
        try write(token)
        return token
    }

    private func readIfThere() throws(Failure) -> AccessToken? {
        let file: FileDescriptor
        do throws(SystemError) {
            file = try directory.open(Self.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            if error.code == ENOENT { return nil }
            throw rejection(
                error.code == ELOOP
                    ? "is a symbolic link" : "cannot be read: \(systemErrorText(error.code))")
        }
        guard let status = try? file.status(), status.kind == .regular else {
            throw rejection("is not a regular file")
        }
        guard status.owner == geteuid() else {
            throw rejection("belongs to the user \(accountName(of: status.owner))")
        }
        guard status.permissions & 0o077 == 0 else {
            throw rejection(
                "has mode \(String(status.permissions, radix: 8)), so other users can "
                    + "read it")
        }
        var buffer = [UInt8](repeating: 0, count: AccessToken.maximumLength + 2)
        let count = Glibc.read(file.rawValue, &buffer, buffer.count)
        guard count >= 0 else { throw rejection("cannot be read: \(systemErrorText(errno))") }
        let text = String(decoding: buffer[..<count], as: UTF8.self)
        do {
            var token = try AccessToken(text.hasSuffix("\n") ? String(text.dropLast()) : text)
            token.source = path
            return token
        } catch {
            throw rejection("holds no token. \(error.message)")
        }
    }

    /// Writes a new file and links it, so that there is a complete token or none.
    private func write(_ token: AccessToken) throws(Failure) {
        let fresh = "\(Self.name).new"
        try? directory.unlink(fresh)
        defer { try? directory.unlink(fresh) }
        try StateDirectory.asFailure("make \(path).new") { () throws(SystemError) in
            let file = try directory.open(
                fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            let line = Array("\(token.text)\n".utf8)
            try line.withUnsafeBufferPointer { (bytes) throws(SystemError) in
                try file.write(UnsafeRawBufferPointer(bytes), at: 0)
            }
            try file.sync()
        }
        let code = linkat(directory.rawValue, fresh, directory.rawValue, Self.name, 0)
        guard code == 0 else { throw StateDirectory.failure("make \(path)", errno) }
    }

    private func rejection(_ reason: String) -> Failure {
        Failure(
            .inputToken,
            "The token file \(path) \(reason). Remove it, and the next start creates a "
                + "new one, which workers and clients then need; or set DRAY_TOKEN_FILE to a "
                + "file of your own.")
    }
}
