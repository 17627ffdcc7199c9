import Glibc
package import Model
import Services
package import Storage
import Text

/// The directory, bucket or cache of `--to`.
package struct Destination: Sendable {
    /// URL for the workers: `file:///absolute/path`, `s3://bucket/prefix` or
    /// `cache:https://host`.
    package let storageURL: String
    /// Path for people; of a bucket or cache its URL without fields.
    package let path: String

    /// Reads a directory or storage URL as a cluster's workers see it; checks no file system.
    package init(remote text: String) throws(Failure) {
        if text.hasPrefix("s3:") || text.hasPrefix("cache:") || text.contains("://")
            || text.hasPrefix("file:")
        {
            try self.init(url: text)
        } else {
            try self.init(directory: Self.absolute(text))
        }
    }

    /// Reads a directory for the embedded cluster, which must be writable or creatable, or a bucket
    /// or cache, to which nothing is sent yet.
    package init(local text: String) throws(Failure) {
        let named = try Destination(remote: text)
        guard named.storageURL.hasPrefix("file:") else {
            self = named
            return
        }
        try self.init(directory: try Self.checked(named.path, given: text))
    }

    /// The only directory, bucket or cache to which the workers of a private cluster may write.
    package var roots: SiteRoots {
        get throws(Failure) { SiteRoots(making: try StorageURL(storageURL)) }
    }

    /// True for a cache, which has no storage.
    package var isCache: Bool { storageURL.hasPrefix("cache:") }

    private init(url: String) throws(Failure) {
        do throws(Failure) {
            let parsed = try Self.site(StorageURL(url))
            storageURL = parsed.description
            path = parsed.path
        } catch {
            throw Failure(.inputDestination, "--to \(redacted(url: url)): \(error.message)")
        }
    }

    private init(directory: String) throws(Failure) {
        do throws(Failure) {
            let parsed = try Self.site(StorageURL(directory: directory))
            storageURL = parsed.description
            path = parsed.path
        } catch {
            throw Failure(.inputDestination, "--to \(printable(directory)): \(error.message)")
        }
    }

    private static func site(_ url: StorageURL) throws(Failure) -> StorageURL {
        guard url.path != "/" else {
            throw Failure(
                .inputDestination, "this is the whole file system; use a directory in it")
        }
        return url
    }

    /// Makes a path absolute, and resolves `.` and `..` by name alone.
    package static func absolute(_ path: String) -> String {
        var components: [Substring] = []
        let whole = path.hasPrefix("/") ? path : currentDirectory() + "/" + path
        for component in whole.split(separator: "/") {
            switch component {
            case ".": continue
            case "..": _ = components.popLast()
            default: components.append(component)
            }
        }
        return "/" + components.joined(separator: "/")
    }

    private static func currentDirectory() -> String {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }

    private static func linkTarget(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Resolves the symlinks of a path's existing part, so that a directory is one site under all
    /// its names. Throws if it cannot be written; leaves no files.
    private static func checked(_ path: String, given: String) throws(Failure) -> String {
        var existing = path
        var missing = ""
        var status = stat()
        while stat(existing, &status) != 0 {
            let code = errno
            let isMissing = code == ENOENT
            // A dangling symlink does not exist for stat, but blocks mkdir.
            guard isMissing, lstat(existing, &status) != 0, existing != "/" else {
                if let target = linkTarget(existing) {
                    throw Failure(
                        .inputDestination,
                        "--to \(printable(given)): \(printable(existing)) is a symlink "
                            + "to \(printable(target)): \(systemErrorText(code)); create its "
                            + "target, or remove it")
                }
                throw Failure(
                    .inputDestination,
                    "--to \(printable(given)): \(systemErrorText(code))")
            }
            let slash = existing.lastIndex(of: "/") ?? existing.startIndex
            missing = existing[slash...] + missing
            existing = slash == existing.startIndex ? "/" : String(existing[..<slash])
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw Failure(
                .inputDestination,
                "--to \(printable(given)): \(printable(existing)) is not a directory")
        }
        // Tried rather than checked: root has all permissions, but not on /proc or a read-only file
        // system.
        var probe = Array("\(existing)/.dray-XXXXXX".utf8CString)
        guard mkdtemp(&probe) != nil else {
            throw Failure(
                .inputDestination,
                "--to \(printable(given)): cannot write to \(printable(existing)): "
                    + systemErrorText(errno))
        }
        rmdir(probe)
        guard let resolved = realpath(existing, nil) else { return path }
        defer { free(resolved) }
        let base = String(cString: resolved)
        return base == "/" ? (missing.isEmpty ? "/" : missing) : base + missing
    }
}
