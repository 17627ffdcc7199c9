internal import Glibc

/// Finds the directories in which a change can make a path lead to another file.
package enum LinkedDirectories {
    /// Maximum of followed symlinks, as in path_resolution(7).
    private static let maximumLinks = 40

    /// Returns the directory of the file, and that of each symlink on the way to it. In that way a
    /// symlink to a directory that is exchanged is noticed, as Kubernetes does with secrets.
    package static func leading(to path: String) -> Set<String> {
        var directories: Set<String> = []
        var pending = Array(path.split(separator: "/").reversed().map(String.init))
        var current = path.hasPrefix("/") ? "" : "."
        var links = 0
        while let part = pending.popLast() {
            let next = "\(current)/\(part)"
            if pending.isEmpty { directories.insert(current.isEmpty ? "/" : current) }
            guard part != ".", part != "..", let target = linkTarget(next) else {
                current = next
                continue
            }
            directories.insert(current.isEmpty ? "/" : current)
            links += 1
            guard links <= maximumLinks else { break }
            pending += target.split(separator: "/").reversed().map(String.init)
            if target.hasPrefix("/") { current = "" }
        }
        return directories
    }

    private static func linkTarget(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let base = buffer.baseAddress else { return nil }
            let count = readlink(path, base, buffer.count)
            guard count > 0 else { return nil }
            return String(
                decoding: UnsafeRawBufferPointer(start: base, count: count), as: UTF8.self)
        }
    }
}
