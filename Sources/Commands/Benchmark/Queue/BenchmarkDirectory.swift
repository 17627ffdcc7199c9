import FoundationEssentials
import Glibc
package import Model
import Rendering
import Services

/// A directory of the benchmark, which is removed at the end.
package final class BenchmarkDirectory: Sendable {
    /// Absolute path.
    package let path: String

    /// Creates a directory in `parent`, which must be on a disk: a commit to memory costs nothing.
    ///
    /// Throws `input.destination` if that fails, or if the file system has less than `bytes` free.
    package init(in parent: String, bytes: Int64) throws(Failure) {
        var template = Array("\(parent)/dray-benchmark-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw Failure(
                .inputDestination,
                "cannot create a directory in \(parent): \(systemErrorText(errno))")
        }
        let made = template.dropLast().map { UInt8(bitPattern: $0) }
        path = String(decoding: made, as: UTF8.self)
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return }
        let free = Int64(clamping: space.f_bavail) * Int64(clamping: space.f_frsize)
        guard free >= bytes else {
            rmdir(path)
            throw Failure(
                .inputDestination,
                "the databases may need \(HumanFormat.bytes(bytes)), and \(parent) has "
                    + "\(HumanFormat.bytes(free)) free")
        }
    }

    /// Removes the directory; all processes in it must have stopped.
    package func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }
}
