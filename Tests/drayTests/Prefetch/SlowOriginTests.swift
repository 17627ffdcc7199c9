import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// A worker whose connections are all taken by origins that send next to nothing.
    @Suite(.timeLimit(.minutes(5))) struct SlowOriginTests {
        @Test func aFastCatalogIsFetchedBesideSlowOnesAndTheseAreFetchedToo() async throws {
            let gate = Gate()
            defer { gate.open() }
            let body = [UInt8](repeating: 7, count: 40_000)
            let origins = try (0..<4).map { _ in try FaultOrigin() }
            var urls: [String] = []
            for (index, origin) in origins.enumerated() {
                for number in 0..<8 {
                    let path = "/\(index)/\(number).bin"
                    // Half of the origins serve the rest of a file.
                    origin.route(path) { request in
                        request.serve(body, etag: index % 2 == 0 ? "\"v1\"" : nil)
                            .held(after: 1_000, at: gate)
                    }
                    urls.append(origin.url(path))
                }
            }
            let fast = try await FileOrigin(files: 300)
            let edge = try TemporaryDirectory("edge")
            // What is held must not time out, however slow the machine.
            let settings = try edge.write(
                #"{"default": {"timeouts": {"lowSpeedSeconds": 3600}}}"#, to: "origins.json")
            let slowList = try edge.write(
                String(
                    decoding: JSONEncoder().encode(List(name: "slow", priority: 1, assets: urls)),
                    as: UTF8.self),
                to: "slow.json")
            let fastURLs = try String(contentsOfFile: fast.list, encoding: .utf8)
                .split(separator: "\n").map(String.init)
            let fastList = try edge.write(
                String(
                    decoding: JSONEncoder().encode(
                        List(name: "fast", priority: 9, assets: fastURLs)), as: UTF8.self),
                to: "fast.json")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 8, leaseSeconds: 30,
                workerOptions: ["--origin-settings", settings])
            let slow = try cluster.start(["prefetch", slowList, "--to", edge.path("site")])
            try await waitUntil(deadlineSeconds: 60, "a slow transfer on every connection") {
                origins.reduce(0) { $0 + $1.connections.now } == 8
            }
            let report = edge.path("report.json")
            let prefetch = try cluster.start(
                ["prefetch", fastList, "--to", edge.path("site"), "--report", report])
            #expect(try await prefetch.wait(deadlineSeconds: 90) == .exited(0))
            #expect(slow.ending == nil)
            gate.open()
            #expect(try await slow.wait(deadlineSeconds: 120) == .exited(0))
            let status = try await cluster.status()
            // Neither what was stopped nor what was given back has used up an attempt.
            #expect(status.catalogs.map(\.totals.retries) == [0, 0])
            #expect(status.catalogs.map(\.totals.failed) == [0, 0])
            for origin in origins {
                let requests = Dictionary(grouping: origin.requests, by: \.path)
                #expect(requests.count == 8)
            }
            try await cluster.stop()
            try await fast.expectCopied(to: edge.path("site"))
            for (index, origin) in origins.enumerated() {
                let data = FileManager.default.contents(
                    atPath: edge.path("site/127.0.0.1:\(origin.port)/\(index)/7.bin"))
                #expect(data == Data(body))
            }
        }

        private struct List: Encodable {
            var name: String
            var priority: Int
            var assets: [String]
        }
    }
}
