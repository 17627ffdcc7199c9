import CoordinatorClient
import LoadModel
import Model
import Synchronization
import TestSupport
import Testing

@testable import Client

extension EndToEnd {
    /// Viewers on workers are led as those of one process are.
    @Suite(.timeLimit(.minutes(5))) struct LoadClusterSteeringTests {
        @Test func viewersOnWorkersFollowRedirectsAndSteering() async throws {
            let (a, b) = (try FaultOrigin(), try FaultOrigin())
            let list =
                "#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
                + (0..<30).map { "#EXTINF:1,\n\($0).ts\n" }.joined() + "#EXT-X-ENDLIST\n"
            for origin in [a, b] {
                origin.route("/v/list.m3u8", FaultOrigin.Response(text: list))
                for number in 0..<30 { origin.serve("/v/\(number).ts", [1, 2, 3]) }
            }
            a.route("/go", .redirect(to: "/main.m3u8"))
            a.route(
                "/main.m3u8",
                FaultOrigin.Response(
                    text: """
                        #EXTM3U
                        #EXT-X-CONTENT-STEERING:SERVER-URI="/steer",PATHWAY-ID="a"
                        #EXT-X-STREAM-INF:BANDWIDTH=24,PATHWAY-ID="a"
                        v/list.m3u8
                        #EXT-X-STREAM-INF:BANDWIDTH=24,PATHWAY-ID="b"
                        \(b.url("/v/list.m3u8"))

                        """))
            // Each of the two viewers is led to the other pathway by its second request.
            let asked = Mutex(0)
            a.route("/steer") { _ in
                let name = asked.withLock { count in
                    count += 1
                    return count > 2 ? "b" : "a"
                }
                return FaultOrigin.Response(
                    text: "{\"VERSION\":1,\"TTL\":1,\"PATHWAY-PRIORITY\":[\"\(name)\"]}")
            }
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 60)
            var scenario = LoadScenario()
            scenario.targets = [LoadTarget(name: "t", source: .url(a.url("/go"), .hls))]
            scenario.stages = [LoadStage(seconds: 6, from: 2, to: 2)]
            var settings = ViewerSettings()
            settings.bufferSeconds = 1
            settings.startupSeconds = 0.5
            scenario.user = .viewers(settings)
            let client = try CoordinatorClient(endpoints: cluster.urls, token: .test)
            defer { client.shutdown() }
            var options = ClusterLoadRunner.Options()
            options.workers = 2
            let end = try await ClusterLoadRunner(client: client, options) { _ in }
                .run(scenario, workers: nil, onChange: { _ in }) { _ in }
            #expect(end.shards.map(\.state) == [.finished, .finished])
            func sum(_ count: (LoadCounts) -> Int64) -> Int64 {
                end.shards.reduce(0) { $0 + count($1.counts) }
            }
            #expect(sum(\.requests.failed) == 0)
            // One of each worker before the load.
            #expect(sum(\.requests.redirects) == Int64(a.count("/go")) - 2)
            #expect(sum(\.pathways.changes) >= 2)
            let groups = end.breakdown.groups
            #expect(groups[.kind]?["redirect"]?.requests == sum(\.requests.redirects))
            #expect(groups[.kind]?["steering"]?.requests == Int64(a.count("/steer")))
            let onB = b.requests.count { $0.path.hasSuffix(".ts") }
            // Each viewer's playlist, and its segments.
            #expect(onB >= 2 && groups[.pathway]?["b"]?.requests ?? 0 >= Int64(onB) + 2)
            #expect(groups[.pathway]?["b"]?.failed == 0)
            #expect(groups[.pathway]?["a"]?.requests ?? 0 >= 4)
        }
    }
}
