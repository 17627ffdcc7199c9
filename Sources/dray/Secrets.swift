import Glibc
import Model
import Runtime

/// What nobody else is to read, from a file or the environment: the token, the database's URL. Every user of a
/// machine can see a command line.
enum Secrets {
    /// The cluster's token, from `DRAY_TOKEN` or the file of `DRAY_TOKEN_FILE`; nil where neither is set.
    static var token: AccessToken? {
        get throws {
            guard let secret = try environment("DRAY_TOKEN", "DRAY_TOKEN_FILE") else { return nil }
            return try secret.named { text throws(Failure) in try AccessToken(text) }
        }
    }

    /// The same for a process that is no use without one.
    static func requiredToken() throws -> AccessToken {
        guard let token = try token else {
            throw UsageError(
                "there is no token",
                hint:
                    "Make one with `openssl rand -hex 32` in a file that only its owner can read, and set "
                    + "DRAY_TOKEN_FILE to it; coordinators, workers and clients need the same.")
        }
        return token
    }

    // MARK: The database

    static let databaseOptions = [
        CommandOption(
            "database-file", .text(placeholder: "FILE"),
            help: "A file with the database's URL. Default: $DRAY_DATABASE_FILE, or the URL in "
                + "$DRAY_DATABASE_URL."),
        CommandOption(
            "database", .text(placeholder: "URL"),
            help:
                "The URL itself, postgresql://USER@HOST/NAME or anything else that libpq takes; other "
                + "users can see it, so leave a password out."),
    ]

    /// The database's URL: of the command line, or else of the environment.
    static func databaseURL(_ arguments: Arguments) throws -> String {
        let (url, path) = (arguments.text("database"), arguments.text("database-file"))
        guard url == nil || path == nil else {
            throw UsageError(
                "--database and --database-file are both given", hint: "Give one of them.")
        }
        if let url { return url }
        if let path { return try read(path).text }
        guard let secret = try environment("DRAY_DATABASE_URL", "DRAY_DATABASE_FILE") else {
            throw UsageError(
                "--database is missing",
                hint:
                    "Set DRAY_DATABASE_URL, or DRAY_DATABASE_FILE to a file with the URL, or write "
                    + "--database-file FILE or --database URL.")
        }
        return secret.text
    }

    // MARK: Reading

    /// A secret and what named it.
    private struct Secret {
        var text: String
        var source: String

        /// Makes something of the text; failures name the source.
        func named<Value>(_ make: (String) throws(Failure) -> Value) throws(Failure) -> Value {
            do throws(Failure) {
                return try make(text)
            } catch {
                throw Failure(error.code, "\(printable(source)): \(error.message)")
            }
        }
    }

    /// What one of two variables holds or leads to; nil where neither is set, or both are empty.
    private static func environment(_ variable: String, _ fileVariable: String) throws -> Secret? {
        let values = [variable, fileVariable].map { DrayCommand.environment[$0] ?? "" }
        guard values.contains("") else {
            throw UsageError(
                "\(variable) and \(fileVariable) are both set", hint: "Unset one of them.")
        }
        if !values[0].isEmpty { return Secret(text: values[0], source: variable) }
        return values[1].isEmpty ? nil : try read(values[1])
    }

    /// The text of a file without the end of its last line. Warns where every user can read it: whoever
    /// mounts secrets into a container may not choose their mode.
    private static func read(_ path: String) throws(Failure) -> Secret {
        let (bytes, status) = try SmallFile.read(path, maximumBytes: 64 << 10)
        if status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o004 != 0 {
            Console.note("every user can read \(printable(path)); run: chmod go= on it")
        }
        var text = String(decoding: bytes, as: UTF8.self)
        while text.last?.isNewline == true { text.removeLast() }
        guard !text.isEmpty else {
            throw Failure("input.empty", "\(printable(path)) is empty")
        }
        return Secret(text: text, source: path)
    }
}
