internal import Glibc

/// The CPU quota of this process's control group: CPU bandwidth of cgroups(7), read from `cpu.max`
/// (version 2) and `cpu.cfs_quota_us` (version 1).
struct CPUQuota: Sendable, Equatable {
    /// CPU seconds per second, above 0.
    var cores: Double
    /// Identifies the group that has the quota among those of one kernel.
    var group: String

    /// The lowest quota of the process's group and of its visible ancestors; nil if none has one.
    static var current: CPUQuota? {
        read(groups: ThisMachine.read("/proc/self/cgroup"), namespace: namespace) {
            ThisMachine.read("/sys/fs/cgroup" + $0)
        }
    }

    /// Reads the lowest quota of some groups.
    ///
    /// - Parameters:
    ///   - groups: one hierarchy per line, as in `/proc/self/cgroup`.
    ///   - namespace: distinguishes paths from those of other containers.
    ///   - file: the text at a path below the mounts of the hierarchies; empty for none.
    static func read(
        groups: String, namespace: String, file: (String) -> String
    ) -> CPUQuota? {
        var least: CPUQuota?
        for line in groups.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[2].hasPrefix("/") else { continue }
            let controllers = parts[1].split(separator: ",")
            guard controllers.isEmpty || controllers.contains("cpu") else { continue }
            // Groups above the namespace's root are not visible.
            let names = parts[2].split(separator: "/").filter { $0 != ".." }
            for count in stride(from: names.count, through: 0, by: -1) {
                let path = names.prefix(count).map { "/\($0)" }.joined()
                let cores =
                    controllers.isEmpty
                    ? version2(file("\(path)/cpu.max"))
                    : ["cpu", "cpu,cpuacct"].compactMap { mount in
                        version1(
                            file("/\(mount)\(path)/cpu.cfs_quota_us"),
                            file("/\(mount)\(path)/cpu.cfs_period_us"))
                    }.first
                guard let cores, cores < least?.cores ?? .infinity else { continue }
                // The mount at the root may be that of one container.
                least = CPUQuota(
                    cores: cores, group: namespace + (count == 0 ? String(parts[2]) : path))
            }
        }
        return least
    }

    /// Parses `50000 100000`: microseconds per period of microseconds; `max` means no quota.
    private static func version2(_ text: String) -> Double? {
        let words = text.split(separator: " ")
        guard words.count == 2 else { return nil }
        return cores(words[0], words[1])
    }

    private static func version1(_ quota: String, _ period: String) -> Double? {
        cores(quota[...], period[...])
    }

    private static func cores(_ quota: Substring, _ period: Substring) -> Double? {
        guard let quota = Int64(quota), let period = Int64(period), quota > 0, period > 0 else {
            return nil
        }
        return Double(quota) / Double(period)
    }

    private static let namespace: String = {
        var buffer = [CChar](repeating: 0, count: 256)
        let count = readlink("/proc/self/ns/cgroup", &buffer, buffer.count)
        return String(
            decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()
}
