internal import Glibc

/// The CPU time that a control group leaves to this process: CPU bandwidth of cgroups(7), `cpu.max` of version 2
/// and `cpu.cfs_quota_us` of version 1, as containers and services have them.
struct CPUQuota: Sendable, Equatable {
    /// CPU seconds a second, over 0.
    var cores: Double
    /// Tells the group that has it from the others under one kernel.
    var group: String

    /// The least of the process's group and those above it that can be seen; nil where none has any.
    static var current: CPUQuota? {
        read(groups: ThisMachine.read("/proc/self/cgroup"), namespace: namespace) {
            ThisMachine.read("/sys/fs/cgroup" + $0)
        }
    }

    /// - Parameters:
    ///   - groups: a hierarchy a line, as `/proc/self/cgroup` has them.
    ///   - namespace: what paths are told from those of other containers by.
    ///   - file: the text at a path below where the hierarchies are mounted; empty for none.
    static func read(
        groups: String, namespace: String, file: (String) -> String
    ) -> CPUQuota? {
        var least: CPUQuota?
        for line in groups.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[2].hasPrefix("/") else { continue }
            let controllers = parts[1].split(separator: ",")
            guard controllers.isEmpty || controllers.contains("cpu") else { continue }
            // What is above the namespace's own root cannot be seen.
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
                // At the root the mount may be that of a container alone.
                least = CPUQuota(
                    cores: cores, group: namespace + (count == 0 ? String(parts[2]) : path))
            }
        }
        return least
    }

    /// `50000 100000`: microseconds, and the period that they are of; `max` for no bound.
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
