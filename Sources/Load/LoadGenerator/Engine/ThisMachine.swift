internal import Glibc
package import LoadModel
import Services

/// The machine of this process, as identified in the reports of a load test.
package enum ThisMachine {
    /// The same for all processes under one kernel.
    static let id = BootID.current ?? name

    static let name: String = {
        let text = read("/proc/sys/kernel/hostname")
        return text.isEmpty ? "?" : text
    }()

    /// CPUs that this process may run on, by the system's numbers; empty if unknown.
    static var cpus: Set<Int> {
        let line = read("/proc/self/status").split(separator: "\n").first {
            $0.hasPrefix("Cpus_allowed_list:")
        }
        return line.map { cpus(ofList: $0.split(separator: ":")[1]) } ?? []
    }

    /// Parses a list such as `0-3,8` (five CPUs).
    static func cpus(ofList text: Substring) -> Set<Int> {
        var cpus: Set<Int> = []
        for part in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            let ends = part.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first >= 0, first <= last,
                last < maxCPUs
            else { continue }
            cpus.formUnion(first...last)
        }
        return cpus
    }

    private static let maxCPUs = 10_000

    /// Number of loops that its CPUs or its quota support, 1 or more.
    package static var threads: Int {
        let cpus = max(cpus.count, 1)
        guard let quota = CPUQuota.current else { return cpus }
        return min(cpus, max(Int(min(quota.cores, 1e6).rounded(.up)), 1))
    }

    /// Reads a file without white space at its ends; empty if it cannot be read.
    static func read(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = fread(&buffer, 1, buffer.count, file)
        var text = String(decoding: buffer.prefix(count), as: UTF8.self)[...]
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    /// The machine's properties for a load, read when the load begins.
    package struct Generator: Sendable {
        private let id: String
        private let machine: LoadMachine

        package init() { self.init(CPUQuota.current) }

        init(_ quota: CPUQuota?, cpus: Set<Int> = ThisMachine.cpus) {
            // Processes share the machine's CPUs only with those under the same quota.
            id = quota.map { "\(ThisMachine.id) \($0.group)" } ?? ThisMachine.id
            machine = LoadMachine(
                name: ThisMachine.name, cpus: cpus, cpuSeconds: 0, quotaCores: quota?.cores)
        }

        /// Returns true if so many loops have less CPU time than they could use, by CPUs or by
        /// quota.
        package func limits(threads: Int) -> Bool {
            machine.cores > 0 && machine.cores < Double(threads)
        }

        /// Returns the number of CPUs that so many loops can use at once, 1 or more, rounded up.
        package func cores(threads: Int) -> Int {
            guard limits(threads: threads) else { return max(threads, 1) }
            return max(Int(machine.cores.rounded(.up)), 1)
        }

        /// Returns the CPU use of a second as that of one machine.
        package func use(_ cpuSeconds: Double) -> [String: LoadMachine] {
            var machine = machine
            machine.cpuSeconds = cpuSeconds
            return [id: machine]
        }
    }
}
