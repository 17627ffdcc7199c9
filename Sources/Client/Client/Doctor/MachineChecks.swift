import Model
import Rendering
import Text

/// Judges the limits of a machine.
enum MachineChecks {
    /// Descriptors that a worker needs with its default of 32 connections, and with 1,000: a socket
    /// and two files for each, and some for itself.
    static let minOpenFiles: Int64 = 256 + 3 * 32
    static let goodOpenFiles: Int64 = 256 + 3 * 1_000
    static let goodMemoryBytes: Int64 = 512 << 20
    static let goodPorts = 10_000
    static let goodListenQueue = 512

    static func all(_ facts: MachineFacts) -> [DoctorCheck] {
        [
            openFiles(facts), memory(facts), cores(facts), ports(facts), listenQueue(facts),
            proxies(facts),
        ]
    }

    static func openFiles(_ facts: MachineFacts) -> DoctorCheck {
        let finding = "\(HumanFormat.count(facts.openFiles)) descriptors may be open"
        let advice = "Raise the limit: LimitNOFILE=65536 in a systemd unit, or ulimit -n."
        if facts.openFiles < minOpenFiles {
            return .failed(
                .machine, "open files",
                "\(finding); a worker with 32 connections needs \(minOpenFiles)", advice: advice)
        }
        guard facts.openFiles >= goodOpenFiles else {
            return .warning(
                .machine, "open files",
                "\(finding); a worker with 1,000 connections needs "
                    + HumanFormat.count(goodOpenFiles), advice: advice)
        }
        return .ok(.machine, "open files", finding)
    }

    static func memory(_ facts: MachineFacts) -> DoctorCheck {
        let limits = [facts.memoryBytes, facts.memoryLimitBytes].compactMap(\.self)
        guard let bytes = limits.min() else {
            return .skipped(.machine, "memory", because: "/proc/meminfo cannot be read")
        }
        let isOfGroup = bytes == facts.memoryLimitBytes
        let finding =
            "\(HumanFormat.bytes(bytes)) of "
            + (isOfGroup ? "the control group" : "the machine, without a further limit")
        guard bytes >= goodMemoryBytes else {
            return .warning(
                .machine, "memory", finding,
                advice: "Allow 512 MiB or more; a killed worker's jobs wait for their lease's end.")
        }
        return .ok(.machine, "memory", finding)
    }

    static func cores(_ facts: MachineFacts) -> DoctorCheck {
        let limit = facts.coresLimit.map { min($0, Double(facts.cores)) }
        guard let limit else {
            return .ok(.machine, "processors", HumanFormat.count(facts.cores, "core"))
        }
        let finding = "\(HumanFormat.fixed(limit, places: 1)) of \(facts.cores) cores"
        guard limit >= 1 else {
            return .warning(
                .machine, "processors", finding + ", by the control group",
                advice: "Allow one core or more: a process that is held back renews leases late.")
        }
        return .ok(.machine, "processors", finding)
    }

    static func ports(_ facts: MachineFacts) -> DoctorCheck {
        guard let ports = facts.ports else {
            return .skipped(
                .machine, "local ports", because: "ip_local_port_range cannot be read")
        }
        let finding = "\(HumanFormat.count(ports)) for outgoing connections"
        guard ports >= goodPorts else {
            return .warning(
                .machine, "local ports", finding,
                advice: "Widen net.ipv4.ip_local_port_range, for example to 32768 60999.")
        }
        return .ok(.machine, "local ports", finding)
    }

    static func listenQueue(_ facts: MachineFacts) -> DoctorCheck {
        guard let length = facts.listenQueue else {
            return .skipped(.machine, "listen queue", because: "somaxconn cannot be read")
        }
        let finding = "\(HumanFormat.count(length, "connection")) (somaxconn)"
        guard length >= goodListenQueue else {
            return .warning(
                .machine, "listen queue", finding,
                advice: "Raise net.core.somaxconn to 4096 on machines with coordinators.")
        }
        return .ok(.machine, "listen queue", finding)
    }

    static func proxies(_ facts: MachineFacts) -> DoctorCheck {
        guard !facts.proxyVariables.isEmpty else {
            return .ok(.machine, "proxies", "none in the environment")
        }
        let names = facts.proxyVariables.map { printable($0) }.joined(separator: ", ")
        return .warning(
            .machine, "proxies", "Dray does not use \(names)",
            advice: "If origins need a proxy, set it for each with --origin-settings.")
    }
}
