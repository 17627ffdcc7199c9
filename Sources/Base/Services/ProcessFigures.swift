import FoundationEssentials
import Glibc

/// Figures of this process, read from `/proc`; nil where that does not show them.
package enum ProcessFigures {
    /// CPU time of all threads.
    package static var cpuSeconds: Double? {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return nil }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    package static var residentBytes: Double? {
        guard let text = text(of: "/proc/self/statm") else { return nil }
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Double(fields[1]) else { return nil }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    package static var openDescriptors: Double? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without the two names of directories, and this one.
        return Double(max(count - 3, 0))
    }

    /// Start of the process in seconds since 1970.
    package static let startSeconds: Double? = {
        // The name of the program is in parentheses and may contain anything; field 22 is the start.
        guard let stat = text(of: "/proc/self/stat"), let end = stat.lastIndex(of: ")"),
            let boot = text(of: "/proc/stat")?.split(separator: "\n")
                .first(where: { $0.hasPrefix("btime ") })
                .flatMap({ Double($0.dropFirst("btime ".count)) })
        else { return nil }
        let fields = stat[end...].split(separator: " ")
        guard fields.count > 20, let ticks = Double(fields[20]) else { return nil }
        return boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }()

    private static func text(of path: String) -> String? {
        try? String(contentsOfFile: path, encoding: .utf8)
    }
}
