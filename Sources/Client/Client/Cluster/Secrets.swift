package import CommandLine
import Glibc
package import Model
import Services
import Text

/// Reads secrets, such as the token and the database's URL, from files or the environment. Every
/// user of a machine can see a command line.
package enum Secrets {
    /// The cluster's token, from `DRAY_TOKEN` or the file of `DRAY_TOKEN_FILE`; nil if neither is
    /// set.
    package static var token: AccessToken? {
        get throws {
            guard let secret = try environment("DRAY_TOKEN", "DRAY_TOKEN_FILE") else { return nil }
            var token = try secret.named { text throws(Failure) in try AccessToken(text) }
            token.owner = secret.owner
            token.coordinatorUsers = try coordinatorUsers()
            token.source = secret.source
            return token
        }
    }

    /// Reads `DRAY_COORDINATOR_USER`: users who may run a coordinator on this machine, besides the
    /// caller, root and the token file's owner. Names or numbers separated by commas, or `any`.
    private static func coordinatorUsers() throws(UsageError) -> CoordinatorUsers {
        let text = ClientSettings.environment["DRAY_COORDINATOR_USER"] ?? ""
        guard text != "any" else { return .anyone }
        var users: Set<UInt32> = []
        for name in text.split(separator: ",") {
            guard let user = UInt32(name) ?? account(named: String(name))?.user else {
                throw UsageError(
                    "DRAY_COORDINATOR_USER: there is no user '\(printable(String(name.prefix(100))))'",
                    hint: "Use names of users of this machine, separated by commas, or any.")
            }
            users.insert(user)
        }
        return .these(users)
    }

    /// Returns the token; throws if none is set.
    package static func requiredToken() throws -> AccessToken {
        guard let token = try token else {
            throw UsageError(
                "the token is missing",
                hint:
                    "Create one with `openssl rand -hex 32`, for workers and clients with `dray token "
                    + "create`, in a file that only its owner can read, and name it with --token-file "
                    + "or DRAY_TOKEN_FILE.")
        }
        return token
    }

    // MARK: The database

    package static let databaseOptions = [
        CommandOption(
            "database-file", .file(placeholder: "FILE"), setting: Settings.databaseFile,
            help: "File with the database URL. Default: $DRAY_DATABASE_FILE, or the URL in "
                + "$DRAY_DATABASE_URL."),
        CommandOption(
            "database", .text(placeholder: "URL"), setting: Settings.database,
            help:
                "Database URL: postgresql://USER@HOST/NAME or any libpq connection "
                + "string. Other users can see it, so omit the password."),
    ]

    /// Returns the database's URL from the command line, or else from the environment.
    package static func databaseURL(_ arguments: Arguments) throws -> String {
        let (url, path) = (arguments.text("database"), arguments.text("database-file"))
        guard url == nil || path == nil else {
            throw UsageError(
                "--database and --database-file are both given", hint: "Use one of them.")
        }
        if let url {
            if arguments.origin(of: "database") == .commandLine, holdsPassword(url) {
                Console.note(
                    "every user of the machine can read the password in --database; use --database-file"
                )
            }
            return url
        }
        if let path {
            return try read(path, namedBy: ClientSettings.source(of: "DRAY_DATABASE_FILE")).text
        }
        guard let secret = try environment("DRAY_DATABASE_URL", "DRAY_DATABASE_FILE") else {
            throw UsageError(
                "--database is missing",
                hint:
                    "Set DRAY_DATABASE_URL, or DRAY_DATABASE_FILE to a file with the URL, or write "
                    + "--database-file FILE or --database URL.")
        }
        return secret.text
    }

    /// Returns true if a libpq URL or key-value string contains a password.
    static func holdsPassword(_ database: String) -> Bool {
        if database.contains("password") { return true }
        guard let scheme = database.firstRange(of: "://") else { return false }
        let authority = database[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" }
        guard let at = authority.lastIndex(of: "@"),
            let colon = authority[..<at].firstIndex(of: ":")
        else { return false }
        return authority.index(after: colon) < at
    }

    /// Returns the secret of a webhook from the file of `--secret-file`.
    package static func webhookSecret(ofFile path: String) throws(Failure) -> String {
        try read(path, namedBy: webhookOption).text
    }

    private static let webhookOption = "--secret-file"

    // MARK: Reading

    /// A secret and its source.
    private struct Secret {
        var text: String
        var source: String
        /// Owner of the file that it was read from.
        var owner: UInt32?

        /// Parses the text; failures name the source.
        func named<Value>(_ make: (String) throws(Failure) -> Value) throws(Failure) -> Value {
            do throws(Failure) {
                return try make(text)
            } catch {
                throw Failure(error.code, "\(printable(source)): \(error.message)")
            }
        }
    }

    /// Reads a secret from one of two variables; nil if neither is set, or both are empty.
    private static func environment(_ variable: String, _ fileVariable: String) throws -> Secret? {
        let values = [variable, fileVariable].map { ClientSettings.environment[$0] ?? "" }
        guard values.contains("") else {
            throw UsageError(
                "\(ClientSettings.source(of: variable)) and "
                    + "\(ClientSettings.source(of: fileVariable)) are both set",
                hint: "Unset one of them.")
        }
        if !values[0].isEmpty {
            return Secret(text: values[0], source: ClientSettings.source(of: variable))
        }
        guard !values[1].isEmpty else { return nil }
        return try read(values[1], namedBy: ClientSettings.source(of: fileVariable))
    }

    /// Reads a file without its final line feed. Warns if every user can read it, but does not
    /// fail: the mode of a container's mounted secrets may be fixed.
    private static func read(
        _ path: String, namedBy source: String
    ) throws(Failure) -> Secret {
        let (bytes, status): ([UInt8], stat)
        do throws(Failure) {
            (bytes, status) = try SmallFile.read(path, maximumBytes: 64 << 10)
        } catch {
            throw Failure(error.code, "\(source): \(error.message)")
        }
        let isFile = status.st_mode & S_IFMT == S_IFREG
        if isFile, status.st_mode & 0o004 != 0 {
            Console.note("every user can read \(printable(path)); run: chmod go= on it")
        }
        var text = String(decoding: bytes, as: UTF8.self)
        while text.last?.isNewline == true { text.removeLast() }
        guard !text.isEmpty else {
            let isToken = source == ClientSettings.source(of: "DRAY_TOKEN_FILE")
            let other = source == webhookOption ? "a secret" : "the database's URL"
            throw Failure(
                isToken ? .inputToken : .inputMalformed,
                "\(source): the file \(printable(path)) is empty, without "
                    + (isToken ? "a token" : other))
        }
        return Secret(
            text: text, source: "\(source): \(path)", owner: isFile ? status.st_uid : nil)
    }
}
