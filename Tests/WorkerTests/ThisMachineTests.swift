import Testing

@testable import Worker

/// What machines are told apart by.
@Suite struct ThisMachineTests {
    @Test func aListOfCPUsIsRead() {
        #expect(ThisMachine.cpus(ofList: "\t0-3,8,10-11") == [0, 1, 2, 3, 8, 10, 11])
        #expect(ThisMachine.cpus(ofList: "5") == [5])
        #expect(ThisMachine.cpus(ofList: "x,3-1,0-99999999").isEmpty)
    }

    @Test func thisOneIsKnown() {
        #expect(!ThisMachine.id.isEmpty && !ThisMachine.name.isEmpty)
        #expect(ThisMachine.cpus.count >= 1)
    }
}
