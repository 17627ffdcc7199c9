internal import CLinux
internal import Glibc

extension FileDescriptor {
    /// Opens a directory for looking up names only: a user may search it without the right to list
    /// it.
    package static func openLocation(_ path: String) throws(SystemError) -> FileDescriptor {
        try open(path, dray_o_path | O_DIRECTORY)
    }

    /// Creates a directory and its missing parents, following symlinks. Each is created and opened
    /// in the one before, so that a concurrent change of the path leads nowhere else.
    ///
    /// - Parameters:
    /// - mode: Mode of the directory; its parents have 755.
    package static func makeDirectories(
        _ path: String, mode: UInt32
    ) throws(SystemError) -> FileDescriptor {
        var (way, directory) =
            path.hasPrefix("/") ? ("", try openLocation("/")) : (".", try openLocation("."))
        let components = path.split(separator: "/")
        for (index, component) in components.enumerated() {
            let name = String(component)
            way += "/" + name
            let isLast = index == components.count - 1
            if mkdirat(directory.rawValue, name, isLast ? mode : 0o755) != 0, errno != EEXIST {
                throw SystemError.last("mkdir \(way)")
            }
            directory = FileDescriptor(
                owning: try retrying("open \(way)") {
                    openat(directory.rawValue, name, dray_o_path | O_DIRECTORY | O_CLOEXEC)
                })
        }
        return directory
    }

    /// Returns its present path, without symlinks.
    package func path() throws(SystemError) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try retrying("readlink") {
            buffer.withUnsafeMutableBytes { bytes in
                bytes.bindMemory(to: CChar.self).baseAddress.map {
                    readlink("/proc/self/fd/\(rawValue)", $0, bytes.count)
                } ?? 0
            }
        }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
