import Model
import Services
import TestSupport
import Testing

@testable import Worker

@Suite struct LeaseFailuresTests {
    @Test func aRepeatedRejectionIsReported() {
        let failures = LeaseFailures(log: Logger("worker"))
        let rejection = Failure("input.field", "queues: …")
        #expect(failures.failed(rejection) == .milliseconds(200))
        #expect(failures.toReport == nil)
        #expect(failures.failed(rejection) == .milliseconds(400))
        #expect(failures.toReport == rejection)
        failures.succeeded()
        #expect(failures.toReport == nil)
        #expect(failures.failed(rejection) == .milliseconds(200))
    }

    @Test func anUnreachableClusterIsNotReported() {
        let failures = LeaseFailures(log: Logger("worker"))
        for _ in 0..<10 { _ = failures.failed(Failure("cluster.coordinatorUnreachable", "")) }
        #expect(failures.toReport == nil)
        #expect(failures.failed(Failure("cluster.databaseUnreachable", "")) == .seconds(3))
    }
}
