internal import Foundation
internal import Glibc
package import Model

/// A temporary directory of a test, removed with its contents with the last reference.
///
/// Every user may enter and list it, so that a server of another user (PostgreSQL never runs as
/// root) can access its files.
package final class TemporaryDirectory: Sendable {
    /// Absolute path with resolved symlinks, without a trailing slash.
    package let path: String

    /// Creates a directory.
    ///
    /// - Parameter parent: `/dev/shm` for one in memory.
    package init(_ name: String = "test", in parent: String = "/tmp") throws {
        var template = Array("\(parent)/dray-\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXFailure(errno, "mkdtemp in \(parent)") }
        let made = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        chmod(made, 0o755)
        guard let resolved = realpath(made, nil) else { throw POSIXFailure(errno, "realpath") }
        defer { free(resolved) }
        path = String(cString: resolved)
    }

    /// Returns a parent in memory for a directory of up to `bytes`, so that a test does not wait
    /// for a busy disk; `/tmp` if memory is too small, as in containers.
    package static func fastParent(bytes: Int) -> String {
        var space = statvfs()
        let isThere = statvfs("/dev/shm", &space) == 0 && access("/dev/shm", W_OK) == 0
        let free = isThere ? Int(space.f_bavail) * Int(space.f_frsize) : 0
        return free > 2 * bytes ? "/dev/shm" : "/tmp"
    }

    deinit { remove() }

    /// Removes the directory now; harmless if it is gone.
    package func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// Returns the path of `relative` in the directory.
    package func path(_ relative: String) -> String { "\(path)/\(relative)" }

    /// Writes a file, creating its directories, and returns its path.
    @discardableResult
    package func write(_ bytes: some Sequence<UInt8>, to relative: String) throws -> String {
        let target = path(relative)
        try FileManager.default.createDirectory(
            atPath: (target as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: target))
        return target
    }

    /// Creates Dray's own directories of a site, as an earlier worker would leave them.
    package func makePrivateDirectories() {
        for name in [".dray", ".dray/tmp", ".dray/multipart", ".dray/partial"] {
            mkdir(path(name), 0o700)
        }
    }

    /// Writes a text file in the same way.
    @discardableResult
    package func write(_ text: String, to relative: String) throws -> String {
        try write(text.utf8, to: relative)
    }

    /// Returns the IDs of a site's volume marks here.
    package func volumeMarks() -> [VolumeID] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: path(".dray/volume"))
        return (names ?? []).compactMap { VolumeID($0) }.sorted()
    }

    /// Returns the bytes of a file in the directory.
    package func read(_ relative: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: path(relative))))
    }

    /// Returns the paths of all files below it, relative and sorted, without directories and volume
    /// marks.
    package func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).filter { relative in
            guard !relative.hasPrefix(".dray/volume/") else { return false }
            var isDirectory: ObjCBool = false
            return FileManager.default.fileExists(
                atPath: self.path(relative), isDirectory: &isDirectory) && !isDirectory.boolValue
        }.sorted()
    }
}

/// A failed system call or command of a test.
package struct POSIXFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    package init(_ code: Int32, _ operation: String) {
        description = "\(operation): \(String(cString: strerror(code)))"
    }
}
