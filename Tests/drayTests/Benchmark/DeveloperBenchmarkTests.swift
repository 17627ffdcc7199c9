import Foundation
import TestSupport
import Testing

/// `dray-benchmark`, on so little work that its figures mean nothing but can be checked.
@Suite struct DeveloperBenchmarkTests {
    @Test func manifestsAreRead() async throws {
        let process = try DrayProcess.start(
            ["manifest", "--rounds", "1", "--json"], program: DrayProcess.built("dray-benchmark"))
        #expect(try await process.wait(deadlineSeconds: 300) == .exited(0), "\(process.errors)")
        let report = try #require(
            JSONSerialization.jsonObject(with: Data(process.output.utf8)) as? [String: Any])
        let forms = try #require(report["forms"] as? [[String: Any]])
        #expect(forms.count == 3)
        #expect(forms[0]["segments"] as? Int == 10_000)
        #expect(forms.allSatisfy { $0["parseMilliseconds"] as? Double ?? 0 > 0 })
        #expect(forms.dropFirst().allSatisfy { $0["bytes"] as? Int ?? 0 >= 20_000_000 })
    }

    @Test func messagesAreEncodedAndDecoded() async throws {
        let process = try DrayProcess.start(
            ["messages", "--rounds", "2", "--jobs", "3", "--json"],
            program: DrayProcess.built("dray-benchmark"))
        #expect(try await process.wait() == .exited(0), "\(process.errors)")
        let report = try #require(
            JSONSerialization.jsonObject(with: Data(process.output.utf8)) as? [String: Any])
        let forms = try #require(report["forms"] as? [[String: Any]])
        #expect(forms.map { $0["format"] as? String } == ["rows", "rows", "json", "json"])
        #expect(forms.allSatisfy { $0["encodeNanosecondsPerJob"] as? Double ?? 0 > 0 })
        #expect(forms.allSatisfy { $0["decodeNanosecondsPerJob"] as? Double ?? 0 > 0 })
    }

    @Test func simulationsAreHeldAgainstTheory() async throws {
        let process = try DrayProcess.start(
            ["planner", "--jobs", "20000", "--json"], program: DrayProcess.built("dray-benchmark"))
        #expect(try await process.wait() == .exited(0), "\(process.errors)")
        let report = try #require(
            JSONSerialization.jsonObject(with: Data(process.output.utf8)) as? [String: Any])
        let rows = try #require(report["simulations"] as? [[String: Any]])
        #expect(rows.count == 11)
        #expect(rows.prefix(10).allSatisfy { $0["meanWaitSeconds"] as? Double ?? 0 > 0 })
        #expect(rows.count { $0["relativeError"] is Double } == 5)
        #expect(rows.count { $0["kimuraError"] is Double } == 10)
    }
}
