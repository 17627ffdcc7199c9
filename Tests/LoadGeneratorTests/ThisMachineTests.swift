import LoadModel
import Testing

@testable import LoadGenerator

/// Identifiers of machines, and a process's part of them.
@Suite struct ThisMachineTests {
    @Test func aListOfCPUsIsRead() {
        #expect(ThisMachine.cpus(ofList: "\t0-3,8,10-11") == [0, 1, 2, 3, 8, 10, 11])
        #expect(ThisMachine.cpus(ofList: "5") == [5])
        #expect(ThisMachine.cpus(ofList: "x,3-1,0-99999999").isEmpty)
    }

    @Test func thisOneIsKnown() {
        #expect(!ThisMachine.id.isEmpty && !ThisMachine.name.isEmpty)
        #expect(ThisMachine.cpus.count >= 1)
        #expect((1...ThisMachine.cpus.count).contains(ThisMachine.threads))
    }

    private static let version1 = """
        4:memory:/docker/7
        2:cpu,cpuacct:/docker/7
        1:cpuset:/docker/7
        0::/system.slice
        """

    @Test(
        arguments: [
            // A container of version 2 sees its own group as the root.
            ("0::/", ["/cpu.max": "150000 100000"], 1.5, "n/"),
            ("0::/", ["/cpu.max": "max 100000"], nil, ""),
            ("0::/", [:], nil, ""),
            // The least of a service's own and those above it.
            (
                "0::/a.slice/b.service",
                [
                    "/a.slice/cpu.max": "50000 100000",
                    "/a.slice/b.service/cpu.max": "200000 100000",
                ],
                0.5, "n/a.slice"
            ),
            (
                "0::/a.slice/b.service", ["/a.slice/b.service/cpu.max": "25000 100000"], 0.25,
                "n/a.slice/b.service"
            ),
            // Its group lies outside of what it can see.
            ("0::/../c", ["/cpu.max": "100000 100000", "/c/cpu.max": "max 100000"], 1, "n/../c"),
            (
                version1,
                [
                    "/cpu,cpuacct/docker/7/cpu.cfs_quota_us": "200000",
                    "/cpu,cpuacct/docker/7/cpu.cfs_period_us": "100000",
                    "/memory/cpu.cfs_quota_us": "1", "/memory/cpu.cfs_period_us": "100000",
                ], 2, "n/docker/7"
            ),
            // The mount is the container's own, and its path the host's.
            (
                version1, ["/cpu/cpu.cfs_quota_us": "50000", "/cpu/cpu.cfs_period_us": "100000"],
                0.5,
                "n/docker/7"
            ),
            (
                version1, ["/cpu/cpu.cfs_quota_us": "-1", "/cpu/cpu.cfs_period_us": "100000"], nil,
                ""
            ),
            ("1:name=x:/\nnonsense\n0:", ["/cpu.max": "1"], nil, ""),
        ] as [(String, [String: String], Double?, String)])
    func aQuotaIsThatOfTheProcessAndOfWhatIsAboveIt(
        groups: String, files: [String: String], cores: Double?, group: String
    ) {
        let quota = CPUQuota.read(groups: groups, namespace: "n") { files[$0] ?? "" }
        #expect(quota == cores.map { CPUQuota(cores: $0, group: group) })
    }

    @Test func whoHasAQuotaHasThatOfTheMachine() throws {
        let some = ThisMachine.Generator(CPUQuota(cores: 0.5, group: "n/a")).use(0.4)
        let machine = try #require(some.first)
        #expect(machine.key != ThisMachine.id && machine.key.hasSuffix("n/a"))
        #expect(machine.value.cores == 0.5 && machine.value.cpuSeconds == 0.4)
        let none = try #require(ThisMachine.Generator(nil).use(1).first)
        #expect(none.key == ThisMachine.id && none.value.cores == Double(ThisMachine.cpus.count))
        let generator = ThisMachine.Generator(CPUQuota(cores: 1.5, group: ""))
        #expect(generator.limits(threads: 2) && !generator.limits(threads: 1))
        #expect(generator.cores(threads: 4) == min(2, ThisMachine.cpus.count))
    }

    /// More threads than CPUs are no more cores: `taskset` leaves one of many.
    @Test func theCPUsThatItMayUseAreItsCores() throws {
        let one = ThisMachine.Generator(nil, cpus: [3])
        #expect(one.limits(threads: 4) && !one.limits(threads: 1))
        #expect(one.cores(threads: 4) == 1)
        #expect(one.use(0.9).first?.value.cores == 1)
        let some = ThisMachine.Generator(CPUQuota(cores: 2.5, group: ""), cpus: [0, 1, 2, 3])
        #expect(some.cores(threads: 8) == 3 && some.cores(threads: 2) == 2)
        let unknown = ThisMachine.Generator(nil, cpus: [])
        #expect(!unknown.limits(threads: 8) && unknown.cores(threads: 8) == 8)
    }
}
