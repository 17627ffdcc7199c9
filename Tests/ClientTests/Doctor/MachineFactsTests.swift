import Model
import TestSupport
import Testing

@testable import Client

/// The facts of a machine, from files of a `proc` and a `sys` of the test's own.
@Suite struct MachineFactsTests {
    private let root: TemporaryDirectory

    init() throws { root = try TemporaryDirectory("machine") }

    @Test func theLeastLimitsOfTheControlGroupsCount() throws {
        try root.write("MemTotal:       16384 kB\nMemFree: 1 kB\n", to: "proc/meminfo")
        try root.write("0::/system.slice/dray.service\n", to: "proc/self/cgroup")
        let group = "sys/fs/cgroup"
        try root.write("max\n", to: "\(group)/system.slice/dray.service/memory.max")
        try root.write("1073741824\n", to: "\(group)/system.slice/memory.max")
        try root.write("2147483648\n", to: "\(group)/memory.max")
        try root.write("150000 100000\n", to: "\(group)/system.slice/dray.service/cpu.max")
        try root.write("max 100000\n", to: "\(group)/system.slice/cpu.max")
        try root.write("32768\t60999\n", to: "proc/sys/net/ipv4/ip_local_port_range")
        try root.write("4096\n", to: "proc/sys/net/core/somaxconn")
        let facts = MachineFacts.read(
            root: root.path,
            environment: ["HTTPS_PROXY": "http://proxy", "http_proxy": "", "PATH": "/bin"])
        #expect(facts.memoryBytes == 16 << 20)
        #expect(facts.memoryLimitBytes == 1 << 30)
        #expect(facts.coresLimit == 1.5)
        #expect(facts.ports == 28_232)
        #expect(facts.listenQueue == 4_096)
        #expect(facts.proxyVariables == ["HTTPS_PROXY"])
    }

    @Test func aMachineWithoutTheFilesHasNoLimits() throws {
        let facts = MachineFacts.read(root: root.path, environment: [:])
        #expect(facts.memoryBytes == nil && facts.memoryLimitBytes == nil)
        #expect(facts.ports == nil && facts.listenQueue == nil && facts.coresLimit == nil)
        #expect(facts.openFiles > 0 && facts.kernel.hasPrefix("Linux "))
    }

    @Test func theSystemsOwnFilesCanBeRead() {
        let facts = MachineFacts.read(environment: [:])
        #expect(facts.memoryBytes != nil && facts.cores > 0)
    }
}
