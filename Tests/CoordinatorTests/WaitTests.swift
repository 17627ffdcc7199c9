import API
import CoordinatorClient
import Model
import TestSupport
import Testing

/// What a catalog waits for, through the API.
@Suite struct WaitTests {
    @Test func aStatusReportsWhyACatalogWaits() async throws {
        try await Fixture.with { fixture in
            let catalog = try await fixture.submit(["a"])
            #expect(
                try await fixture.client.status(of: catalog).waits?.map(\.reason)
                    == [.noWorker(queue: "srv-edge", workers: 0)])
            var heartbeat = Heartbeat(
                worker: Fixture.worker, leases: [], progress: [:], name: "w", activeTransfers: 0)
            heartbeat.queues = ["elsewhere"]
            _ = try await fixture.client.heartbeat(heartbeat)
            _ = try await fixture.client.control(queue: "srv-edge", QueueControl(.pause))
            let answer = try await fixture.send("GET", "/v1/catalogs/\(catalog)")
            #expect(answer.body.contains(#""waits":[{"#), "\(answer.body)")
            #expect(answer.body.contains(#""reason":"queuePaused""#), "\(answer.body)")
            let waits = try await fixture.client.status(of: catalog).waits ?? []
            #expect(
                Set(waits.map(\.reason)) == [
                    .queuePaused(queue: "srv-edge"), .noWorker(queue: "srv-edge", workers: 1),
                ])
            let listed = try await fixture.client.clusterStatus().catalogs
            #expect(listed.map { $0.waits?.count } == [2])
        }
    }

    @Test func aHeartbeatNamesQueuesWithinBounds() async throws {
        try await Fixture.with { fixture in
            let start = #"{"worker":"\#(Fixture.worker)","leases":[],"name":"w","#
            for rest in [
                #""activeTransfers":0,"progress":{},"queues":[""]}"#,
                #""activeTransfers":1,"progress":{"1":{"receivedBytes":0,"expectedBytes":0,"#
                    + #""transfers":0}}}"#,
                #""activeTransfers":1,"progress":{"1":{"receivedBytes":0,"expectedBytes":0,"#
                    + #""transfers":1,"waiting":-1}}}"#,
            ] {
                let answer = try await fixture.send("POST", "/v1/heartbeats", start + rest)
                #expect(answer.status == 400, "\(rest): \(answer.body)")
            }
            let good =
                #""activeTransfers":1,"queues":["q"],"progress":{"1":{"receivedBytes":0,"#
                + #""expectedBytes":0,"transfers":0,"waiting":1}}}"#
            let answer = try await fixture.send("POST", "/v1/heartbeats", start + good)
            #expect(answer.status == 200, "\(answer.body)")
        }
    }
}
