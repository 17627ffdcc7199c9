import EventLoop
import Glibc
import Model
import Services

/// Limits of this machine and of this process's control group.
package struct MachineFacts: Codable, Sendable, Hashable {
    /// Name, release and architecture of the kernel.
    package var kernel = ""
    /// Those that this process may use.
    package var cores = 0
    package var memoryBytes: Int64?
    /// Hard limit of open descriptors; each process of Dray raises its soft limit to it.
    package var openFiles: Int64 = 0
    /// Limits of the control group (version 2); nil for none.
    package var memoryLimitBytes: Int64?
    package var coresLimit: Double?
    /// Local ports for outgoing connections.
    package var ports: Int?
    /// Maximum length of a listener's queue.
    package var listenQueue: Int?
    /// Variables of the environment that set a proxy.
    package var proxyVariables: [String] = []

    package init() {}

    private static let proxyNames = ["http_proxy", "https_proxy", "all_proxy"]

    /// Reads the facts of this machine.
    ///
    /// - Parameter root: directory with `proc` and `sys`; empty for those of the system.
    package static func read(root: String = "", environment: [String: String]) -> MachineFacts {
        var facts = MachineFacts()
        var system = utsname()
        if uname(&system) == 0 {
            facts.kernel = [
                text(of: &system.sysname), text(of: &system.release), text(of: &system.machine),
            ].joined(separator: " ")
        }
        facts.cores = UsableCPUs.count
        let memory = line(of: "\(root)/proc/meminfo", beginning: "MemTotal:")
        facts.memoryBytes = memory.flatMap { Int64($0[1]) }.map { $0 << 10 }
        facts.openFiles = Int64(min(OpenFiles.limits.hard, UInt64(Int32.max)))
        facts.readGroup(root)
        let range = words(of: "\(root)/proc/sys/net/ipv4/ip_local_port_range").compactMap {
            Int($0)
        }
        if range.count == 2 { facts.ports = range[1] - range[0] + 1 }
        facts.listenQueue = words(of: "\(root)/proc/sys/net/core/somaxconn").first.flatMap {
            Int($0)
        }
        facts.proxyVariables = environment.filter {
            proxyNames.contains($0.key.lowercased()) && !$0.value.isEmpty
        }.keys.sorted()
        return facts
    }

    /// Reads the least limits of the control group and those above it.
    private mutating func readGroup(_ root: String) {
        // "0::/path", relative to the root of the process's namespace.
        let file = Self.line(of: "\(root)/proc/self/cgroup", beginning: "0::")
        guard let entry = file?.first else { return }
        var path = String(entry.dropFirst("0::".count))
        while path.hasSuffix("/") { path.removeLast() }
        while true {
            let group = "\(root)/sys/fs/cgroup\(path)"
            if let bytes = Self.words(of: "\(group)/memory.max").first.flatMap({ Int64($0) }) {
                memoryLimitBytes = min(bytes, memoryLimitBytes ?? bytes)
            }
            let quota = Self.words(of: "\(group)/cpu.max").compactMap { Double($0) }
            if quota.count == 2, quota[1] > 0 {
                coresLimit = min(quota[0] / quota[1], coresLimit ?? .infinity)
            }
            guard let slash = path.lastIndex(of: "/") else { return }
            path = String(path[..<slash])
        }
    }

    private static func text<Field>(of field: inout Field) -> String {
        withUnsafeBytes(of: &field) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// Returns the words of a small file; empty if it cannot be read.
    private static func words(of path: String) -> [String] {
        contents(of: path).split { $0 == " " || $0 == "\t" || $0 == "\n" }.map(String.init)
    }

    /// Returns the words of the first line with this beginning.
    private static func line(of path: String, beginning: String) -> [String]? {
        contents(of: path).split(separator: "\n").first { $0.hasPrefix(beginning) }
            .map { $0.split(separator: " ").map(String.init) }
    }

    private static func contents(of path: String) -> String {
        guard let (bytes, _) = try? SmallFile.read(path, maximumBytes: 64 << 10) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
