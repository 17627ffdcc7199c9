package import FileSystem
internal import Glibc

/// The file that aria2 keeps beside one whose download is not complete. That one may have its full length
/// and a recent date from the start.
package enum ControlFile {
    /// The end of its name.
    package static let suffix = ".aria2"

    /// Returns true if there is one beside the file at `path`. One that cannot be looked at counts.
    package static func isBeside(_ path: String, in directory: FileDescriptor) -> Bool {
        do throws(SystemError) {
            _ = try directory.open(path + suffix, O_RDONLY | O_NONBLOCK)
            return true
        } catch {
            return ![ENOENT, ENOTDIR, ENAMETOOLONG].contains(error.code)
        }
    }
}
