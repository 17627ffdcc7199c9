import FileSystem
import Glibc

/// The contents of a data directory's `postmaster.pid`.
///
/// Its lines are: process id, data directory, start time, port, socket directory, listen address,
/// shared memory key, status (PostgreSQL's src/include/utils/pidfile.h).
struct PostmasterFile: Equatable {
    let pid: Int32
    let socketDirectory: String
    /// The identifier of its segment of System V shared memory; nil if unknown.
    let sharedMemory: Int?
    /// `starting`, `stopping`, `ready` or `standby`; empty while the file is being written.
    let status: String

    var isReady: Bool { status == "ready" }

    /// Reads the file; returns nil if there is none, or if it is a single-user server's.
    static func read(inDataDirectory directory: String) -> PostmasterFile? {
        guard let text = readSmallFile("\(directory)/postmaster.pid") else { return nil }
        return PostmasterFile(text)
    }

    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        // A negative number belongs to a single-user server.
        guard let first = lines.first, let pid = Int32(first), pid > 0 else { return nil }
        self.pid = pid
        socketDirectory = lines.count > 4 ? String(lines[4]) : ""
        // The key, then the identifier.
        sharedMemory =
            lines.count > 6 ? lines[6].split(separator: " ").last.flatMap { Int($0) } : nil
        // Padded with spaces to a fixed length.
        status = lines.count > 7 ? String(lines[7].filter { $0 != " " }) : ""
    }

    /// Returns true if process `pid` lives and is the server of `directory`. The file outlives a
    /// killed server, and the process may be another program or not yet reaped.
    static func isServer(_ pid: Int32, ofDataDirectory directory: String) -> Bool {
        guard kill(pid, 0) == 0, readSmallFile("/proc/\(pid)/comm") == "postgres\n" else {
            return false
        }
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/\(pid)/cwd", &buffer, buffer.count - 1)
        guard count > 0 else { return false }
        let target = buffer.prefix(count).map { UInt8(bitPattern: $0) }
        return String(decoding: target, as: UTF8.self) == directory
    }
}

extension PostmasterFile {
    /// True while processes have the server's shared memory attached (proc(5), sysvipc).
    var hasSharedMemoryInUse: Bool {
        guard let sharedMemory, let file = fopen("/proc/sysvipc/shm", "re") else { return false }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            let fields = String(decoding: text, as: UTF8.self).split(separator: " ")
            // key, shmid, perms, size, cpid, lpid, nattch
            guard fields.count > 6, Int(fields[1]) == sharedMemory else { continue }
            return fields[6] != "0"
        }
        return false
    }
}

/// Returns a small text file; nil if it cannot be read, or has more than 4 KiB.
func readSmallFile(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard let bytes = try? readToEnd(descriptor, maximumBytes: 4_096) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
}
