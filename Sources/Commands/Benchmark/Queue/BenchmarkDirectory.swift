import FoundationEssentials
import Glibc
package import Model
import Rendering
import Services

/// A directory of the benchmark's own, gone when it is over.
package final class BenchmarkDirectory: Sendable {
    /// Absolute.
    package let path: String

    /// Makes one in `parent`; on a disk, for a commit that reaches only memory costs nothing.
    ///
    /// Throws `input.destination` when it cannot be made, or the file system has not `bytes` free.
    package init(in parent: String, bytes: Int64) throws(Failure) {
        var template = Array("\(parent)/dray-benchmark-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw Failure(
                "input.destination",
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
                "input.destination",
                "the databases may need \(HumanFormat.bytes(bytes)), and \(parent) has "
                    + "\(HumanFormat.bytes(free)) free")
        }
    }

    /// Takes everything away; what runs in it has been stopped.
    package func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }
}
