internal import FileSystem
internal import Glibc
internal import Model

/// The directories that one batch needs beneath the root: each is opened once, and created if
/// missing.
///
/// Lives no longer than the batch, so that no old descriptor writes to a directory that is moved or
/// removed later.
struct ParentDirectories {
    private let root: FileDescriptor
    private var opened: [String: Result<FileDescriptor, Failure>] = [:]
    /// Directories that got a new subdirectory; their entries are not yet durable.
    private(set) var changed: [FileDescriptor] = []

    init(root: FileDescriptor) { self.root = root }

    /// Opens the directory at `path`, or the root for an empty path.
    mutating func open(_ path: String) -> Result<FileDescriptor, Failure> {
        if let known = opened[path] { return known }
        let result: Result<FileDescriptor, Failure>
        do throws(SystemError) {
            result = .success(try openOrMake(path))
        } catch {
            result = .failure(symlinkFailure(path, error) ?? Failure(error))
        }
        opened[path] = result
        return result
    }

    /// Returns the failure for a symlink on `path`; nil if there is none.
    private func symlinkFailure(_ path: String, _ error: SystemError) -> Failure? {
        guard [ELOOP, ENOTDIR].contains(error.code) else { return nil }
        var (parent, way) = (root, "")
        for component in pathComponents(of: path) {
            let name = String(component)
            way += way.isEmpty ? name : "/" + name
            if let target = try? parent.symlinkTarget(of: name) {
                return Failure(
                    .storagePathRefused,
                    "\(Redaction.path(way)) is a symlink to \(Redaction.path(target)); files are stored through "
                        + "no symlink below a site. Replace it by a directory or a bind mount")
            }
            guard let next = try? parent.openDirectory(name) else { return nil }
            parent = next
        }
        return nil
    }

    private mutating func openOrMake(_ path: String) throws(SystemError) -> FileDescriptor {
        for _ in 1..<Self.maxTries {
            do throws(SystemError) {
                return try root.openDirectory(path.isEmpty ? "." : path)
            } catch {
                if error.code != ENOENT { throw error }
            }
            do throws(SystemError) {
                return try make(path)
            } catch {
                // Another worker has removed a directory that was empty.
                if error.code != ENOENT { throw error }
            }
        }
        return try make(path)
    }

    private static let maxTries = 4

    private mutating func make(_ path: String) throws(SystemError) -> FileDescriptor {
        var parent = root
        for component in pathComponents(of: path) {
            let name = String(component)
            do throws(SystemError) {
                parent = try parent.openDirectory(name)
            } catch {
                if error.code != ENOENT { throw error }
                if try parent.makeDirectory(named: name) { changed.append(parent) }
                parent = try parent.openDirectory(name)
            }
        }
        return parent
    }
}
