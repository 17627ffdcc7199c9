import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

extension RejectionTests {
    @Test func anIdentityThatIsNoUUIDIsNamedByItsField() async throws {
        let allowed = "junk was given; allowed: a UUID in lower case."
        let cases: [(String, String, String)] = [
            (
                "/v1/leases", #"{"worker":"junk","queues":[],"maxJobs":1,"waitMilliseconds":0}"#,
                "worker"
            ),
            (
                "/v1/leases",
                #"{"worker":"\#(Self.worker)","queues":[],"maxJobs":1,"waitMilliseconds":0,"#
                    + #""pastLoadTests":["\#(Self.lease)","junk"]}"#, "pastLoadTests[1]"
            ),
            (
                "/v1/reports",
                #"{"worker":"\#(Self.worker)","results":[{"job":1,"lease":"junk","outcome":"done"}]}"#,
                "results[0].lease"
            ),
            (
                "/v1/heartbeats",
                #"{"worker":"\#(Self.worker)","leases":["junk"],"progress":{},"name":"n","#
                    + #""activeTransfers":0}"#, "leases[0]"
            ),
            (
                "/v1/splits",
                #"{"worker":"\#(Self.worker)","job":1,"lease":"\#(Self.lease)","multipart":"junk","#
                    + #""totalBytes":4194304,"partBytes":1048576,"validator":"v"}"#, "multipart"
            ),
        ]
        try await Fixture.with { fixture in
            for (target, body, field) in cases {
                let answer = try await fixture.send("POST", target, body)
                #expect(answer.code == "input.field", "\(answer)")
                #expect(answer.body.contains("\(field): \(allowed)"), "\(answer)")
            }
            let fileSystem = try await fixture.send(
                "POST", "/v1/sites/volumes",
                #"{"worker":"\#(Self.worker)","site":1,"lease":"\#(Self.lease)","#
                    + #""volume":"\#(Self.lease)","fileSystem":"EXT4"}"#)
            #expect(
                fileSystem.body.contains(
                    "fileSystem: 4 bytes was given; allowed: 1 to 64 hexadecimal digits and colons."
                ))
            let path = try await fixture.send("GET", "/v1/load-tests/junk")
            #expect(path.body.contains("load test: \(allowed)"), "\(path)")
        }
    }
}
