import Glibc
import Model

/// What processes use, as Linux tells of it in /proc (proc(5)).
package enum ProcessUsage {
    /// CPU time of a process so far, in seconds, its threads included.
    static func cpuSeconds(of pid: Int32) -> Double {
        guard let fields = statFields(of: pid), fields.count > 12 else { return 0 }
        return (number(fields[11]) + number(fields[12])) / ticksPerSecond
    }

    /// CPU time of a PostgreSQL server so far, in seconds: of the postmaster, its children, and
    /// those of them that have ended.
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

    /// Most memory that a process has had resident since it started (`VmHWM`), in bytes.
    package static func peakResidentBytes(of pid: Int32) -> Int64 {
        status("VmHWM", of: pid) * 1_024
    }

    /// Memory that a process has resident (`VmRSS`), in bytes.
    package static func residentBytes(of pid: Int32) -> Int64 { status("VmRSS", of: pid) * 1_024 }

    static func threads(of pid: Int32) -> Int { Int(status("Threads", of: pid)) }

    /// Open descriptors of a process; of this one, without that which it counts with.
    static func descriptors(of pid: Int32) -> Int {
        let names = entries(of: "/proc/\(pid)/fd").count { $0 != "." && $0 != ".." }
        return pid == getpid() ? max(names - 1, 0) : names
    }

    /// The number in a line of /proc/PID/status; 0 when it is not there.
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

    /// The fields of `stat` after the program's name, which may hold anything: the state first.
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

/// CPU seconds of all that takes part, at one moment or between two.
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
