import Foundation
import TestSupport
import Testing

/// `dray worker --traces log`: lines of a job have the trace of its submission.
@Suite(.timeLimit(.minutes(2))) struct JobTraceLogTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    @Test(arguments: [true, false])
    func theFailureOfAJobHasTheTraceOfItsSubmission(isOn: Bool) async throws {
        let origin = try FaultOrigin()
        origin.route("/gone", FaultOrigin.Response(404, text: "gone\n"))
        let cluster = try await ProcessCluster(
            coordinators: 1, workers: 0, connections: 4, leaseSeconds: 30)
        let worker = try cluster.startWorker(
            ["--allow-addresses", "127.0.0.0/8"] + (isOn ? ["--traces", "log"] : []),
            environment: ["DRAY_LOG": "debug", "DRAY_LOG_FORMAT": "json"])
        let edge = try TemporaryDirectory("edge")
        let run = try DrayProcess.start(
            ["prefetch", origin.url("/gone"), "--to", edge.path],
            environment: [
                "DRAY_COORDINATOR": cluster.urls,
                "TRACEPARENT": "00-\(Self.trace)-00f067aa0ba902b7-01",
            ])
        #expect(try await run.wait() == .exited(1), "\(run.errors)")
        try await cluster.stop()
        let lines = worker.errors.split(separator: "\n").compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        let failed = lines.filter { $0["message"] as? String == "a job failed" }
        #expect(failed.count == 1, "\(worker.errors)")
        #expect(failed.first?["code"] as? String == "origin.http.404")
        #expect(failed.first?["trace_id"] as? String == (isOn ? Self.trace : nil))
        #expect((failed.first?["span_id"] as? String != nil) == isOn)
        #expect(origin.requests.count == 1 && origin.requests[0].headers["traceparent"] == nil)
    }
}
