import Glibc
import Model

/// Reads the resource usage of processes from Linux's /proc (proc(5)).
package enum ProcessUsage {
    /// Returns the CPU time of a process so far, in seconds, including its threads.
    static func cpuSeconds(of pid: Int32) -> Double {
        guard let fields = statFields(of: pid), fields.count > 12 else { return 0 }
        return (number(fields[11]) + number(fields[12])) / ticksPerSecond
    }

    /// Returns the CPU time of a PostgreSQL server so far, in seconds: the postmaster, its children
    /// and those that have ended.
    static func cpuSeconds(ofServer postmaster: Int32) -> Double {
        guard let fields = statFields(of: postmaster), fields.count > 14 else { return 0 }
        let own = fields[11...14].reduce(0) { $0 + number($1) } / ticksPerSecond
        return children(of: postmaster).reduce(own) { $0 + cpuSeconds(of: $1) }
    }

    /// CPU time of this process so far, in seconds.
    static var ownCPUSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    /// Returns the maximum resident memory of a process since it started (`VmHWM`), in bytes.
    package static func peakResidentBytes(of pid: Int32) -> Int64 {
        status("VmHWM", of: pid) * 1_024
    }

    /// Returns the resident memory of a process (`VmRSS`), in bytes.
    package static func residentBytes(of pid: Int32) -> Int64 { status("VmRSS", of: pid) * 1_024 }

    static func threads(of pid: Int32) -> Int { Int(status("Threads", of: pid)) }

    /// Returns the number of a process's open descriptors; for this process, without the one used
    /// to count.
    static func descriptors(of pid: Int32) -> Int {
        let names = entries(of: "/proc/\(pid)/fd").count { $0 != "." && $0 != ".." }
        return pid == getpid() ? max(names - 1, 0) : names
    }

    /// Returns the number in a line of /proc/PID/status; 0 if it is missing.
    private static func status(_ name: String, of pid: Int32) -> Int64 {
        guard let text = contents(of: "/proc/\(pid)/status") else { return 0 }
        for line in text.split(separator: "\n") where line.hasPrefix("\(name):") {
            return Int64(line.filter(\.isNumber)) ?? 0
        }
        return 0
    }

    private static func entries(of directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                    tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }

    private static func children(of parent: Int32) -> [Int32] {
        entries(of: "/proc").compactMap { name in
            guard let pid = Int32(name), let fields = statFields(of: pid), fields.count > 1,
                Int32(fields[1]) == parent
            else { return nil }
            return pid
        }
    }

    /// Returns the fields of `stat` after the program's name, which may contain anything: the state
    /// first.
    private static func statFields(of pid: Int32) -> [Substring]? {
        guard let text = contents(of: "/proc/\(pid)/stat"), let end = text.lastIndex(of: ")") else {
            return nil
        }
        return text[text.index(after: end)...].split(separator: " ")
    }

    private static func number(_ field: Substring) -> Double { Double(field) ?? 0 }

    private static let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))

    private static func contents(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// CPU seconds of all participants, at one time or between two.
struct CPUTimes: Sendable {
    var postgres = 0.0
    var coordinator = 0.0
    var client = 0.0

    static func - (left: CPUTimes, right: CPUTimes) -> CPUTimes {
        CPUTimes(
            postgres: left.postgres - right.postgres,
            coordinator: left.coordinator - right.coordinator, client: left.client - right.client)
    }

    static func += (left: inout CPUTimes, right: CPUTimes) {
        left.postgres += right.postgres
        left.coordinator += right.coordinator
        left.client += right.client
    }
}
