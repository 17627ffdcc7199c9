import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

/// The trace of a submission at its origins: sent if the worker's setting is `origins`, and to no
/// other origin.
@Suite struct JobTraceTests {
    private static let traces = [
        "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c",
    ]

    /// Submits a file, a title, a redirect to another origin and a file that only a mirror has,
    /// under one of the traces.
    private static func submit(
        _ cluster: Cluster, _ folder: String, trace: String, flags: String, to other: FaultOrigin
    ) async throws -> CatalogID {
        let origin = cluster.origin
        origin.serve("\(folder)/file", [1, 2, 3])
        origin.serve("\(folder)/0.ts", [UInt8](repeating: 0x47, count: 376))
        origin.serve(
            "\(folder)/index.m3u8",
            Array("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n0.ts\n#EXT-X-ENDLIST\n".utf8))
        other.serve("\(folder)/elsewhere", [4])
        origin.route(
            "\(folder)/moved",
            FaultOrigin.Response.redirect(to: other.url("\(folder)/elsewhere")))
        origin.route("\(folder)/gone", FaultOrigin.Response(404))
        other.serve("\(folder)/gone", [5])
        var mirrored = try cluster.file("\(folder)/gone", sha256: Cluster.sha256([5]))
        mirrored.mirrors = [other.url("\(folder)/gone")]
        let client = try CoordinatorClient(
            endpoints: "http://127.0.0.1:\(cluster.port)", token: .test,
            trace: TraceContext("00-\(trace)-00f067aa0ba902b7-\(flags)"))
        defer { client.shutdown() }
        return try await cluster.submit(
            [
                try cluster.file("\(folder)/file"), try cluster.file("\(folder)/moved"),
                try cluster.title("\(folder)/index.m3u8"), mirrored,
            ], catalog: folder, by: client)
    }

    @Test(arguments: TraceUse.allCases)
    func originsGetTheTraceOfTheSubmission(use: TraceUse) async throws {
        try await Cluster.with(workers: 0) { cluster in
            let other = try FaultOrigin()
            var catalogs: [CatalogID] = []
            for (folder, trace, flags) in [
                ("/a", Self.traces[0], "01"), ("/b", Self.traces[1], "00"),
            ] {
                catalogs.append(
                    try await Self.submit(
                        cluster, folder, trace: trace, flags: flags, to: other))
            }
            // Both catalogs are in its first lease.
            try cluster.startWorker(traces: use)
            for catalog in catalogs {
                let assets = try await cluster.end(of: catalog)
                #expect(assets.values.allSatisfy { $0.state == .completed })
                #expect(assets.count == 4)
            }
            // By a redirect and as a mirror, of each catalog.
            #expect(other.requests.count == 4)
            #expect(other.requests.allSatisfy { $0.headers["traceparent"] == nil })
            let requests = cluster.origin.requests
            #expect(requests.count >= 8)
            var spans: Set<String> = []
            for request in requests {
                let header = request.headers["traceparent"]
                guard use == .origins else {
                    #expect(header == nil, "\(request.path)")
                    continue
                }
                let isFirst = request.path.hasPrefix("/a/")
                let trace = try #require(header.flatMap { TraceContext($0) }, "\(request.path)")
                #expect(trace.traceID == Self.traces[isFirst ? 0 : 1])
                // The caller's choice whether the trace is recorded.
                #expect(trace.header.hasSuffix(isFirst ? "-01" : "-00"))
                #expect(trace.spanID != "00f067aa0ba902b7")
                spans.insert(trace.spanID)
            }
            // Each job is a step of its own: a file, a redirect, a manifest, the title's two files,
            // and the file of the mirror if its own origin was asked first.
            let mirrored = requests.count { $0.path.hasSuffix("/gone") }
            #expect(spans.count == (use == .origins ? 10 + mirrored : 0))
        }
    }
}
