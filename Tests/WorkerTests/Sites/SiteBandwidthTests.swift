import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

/// A site's bandwidth, shared by workers that fetch for it from anywhere.
@Suite(.timeLimit(.minutes(5))) struct SiteBandwidthTests {
    typealias C = Cluster

    /// Names the site, which its first catalog has made known.
    private func set(
        _ cluster: C, _ schedule: String? = nil, maximum: Int64? = nil
    ) async throws {
        _ = try await cluster.client.configure(
            SiteSettings(
                site: "file://\(cluster.edge.path)", schedule: schedule,
                maximumBytesPerSecond: maximum))
    }

    /// Files of so many bytes each, half of them from another origin.
    private func submit(
        _ cluster: C, _ count: Int, bytes: Int, other: FaultOrigin
    ) async throws -> CatalogID {
        let body = sampleBytes(bytes)
        var assets: [AssetSubmission] = []
        for number in 0..<count {
            let path = "/d/\(number)"
            var asset = try cluster.file(path)
            if number.isMultiple(of: 2) {
                cluster.origin.serve(path, body)
            } else {
                other.serve(path, body)
                asset.url = other.url(path)
            }
            assets.append(asset)
        }
        return try await cluster.submit(assets)
    }

    private func received(_ cluster: C, _ catalog: CatalogID) async throws -> Int64 {
        let totals = try await cluster.client.status(of: catalog).totals
        return totals.bytes + totals.receivingBytes
    }

    /// Lets time go by, which a rate is measured in.
    private func pass(_ seconds: Double) async throws {
        let end = ContinuousClock.now + .seconds(seconds)
        try await waitUntil(deadlineSeconds: 60) { ContinuousClock.now >= end }
    }

    @Test func twoWorkersKeepToOneBandwidth() async throws {
        try await C.with(workers: 0) { cluster in
            let other = try FaultOrigin()
            // Makes the site known.
            cluster.origin.serve("/first", [1])
            let first = try await cluster.submit([try cluster.file("/first")], catalog: "first")
            let rate: Int64 = 500_000
            try await set(cluster, "\(rate * 8 / 1_000)kbit/s")
            for _ in 0..<2 { try cluster.startWorker(connections: 4) }
            _ = try await cluster.end(of: first)

            let clock = ContinuousClock()
            let began = clock.now
            // More than one worker takes at a time.
            let catalog = try await submit(cluster, 40, bytes: 100_000, other: other)
            var both = false
            try await waitUntil(deadlineSeconds: 120, "the catalog's end") {
                let shares = try await cluster.client.sites().sites[0].shares
                #expect(shares.reduce(0) { $0 + $1.bytesPerSecond } <= rate, "\(shares)")
                if shares.map(\.bytesPerSecond) == [rate / 2, rate / 2] { both = true }
                return try await cluster.client.status(of: catalog).state.isTerminal
            }
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.retries == 0 })
            // Eight seconds' worth; what is in sockets and buffers at the end is not much.
            #expect(clock.now - began > .seconds(7))
            #expect(both, "two workers with a half each")
            #expect(cluster.origin.requests.count + other.requests.count == 41)
        }
    }

    @Test func aRunningTransferIsSlowedDownAndReleased() async throws {
        try await C.with(workers: 2) { cluster in
            let other = try FaultOrigin()
            cluster.origin.serve("/first", [1])
            _ = try await cluster.run([try cluster.file("/first")], catalog: "first")
            try await set(cluster, maximum: 20_000_000)
            let catalog = try await submit(cluster, 4, bytes: 20_000_000, other: other)
            try await waitUntil(deadlineSeconds: 60, "transfers under way") {
                try await received(cluster, catalog) > 1_000_000
            }
            try await set(cluster, maximum: 100_000)
            // Within some seconds it holds: it is measured from when every share is of the new bound.
            let clock = ContinuousClock()
            try await waitUntil(deadlineSeconds: 60, "small shares") {
                let shares = try await cluster.client.sites().sites[0].shares
                return !shares.isEmpty && shares.reduce(0) { $0 + $1.bytesPerSecond } <= 100_000
            }
            // Workers' reports are a second old.
            try await pass(2)
            let began = clock.now
            let before = try await received(cluster, catalog)
            try await pass(3)
            let grown = try await received(cluster, catalog) - before
            let seconds = (clock.now - began) / .seconds(1) + 1
            // No connection is cut: a block of each that was on its way, and the rate.
            #expect(Double(grown) < 100_000 * seconds + 600_000, "\(grown) in \(seconds) s")
            #expect(cluster.origin.requests.count + other.requests.count == 5)

            // At this rate the rest would take ten minutes.
            try await set(cluster, maximum: 0)
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 60)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.retries == 0 })
            #expect(cluster.origin.requests.count + other.requests.count == 5)
        }
    }

    @Test func aClosedSiteIsHandedNothing() async throws {
        try await C.with { cluster in
            cluster.origin.serve("/first", [1])
            _ = try await cluster.run([try cluster.file("/first")], catalog: "first")
            try await set(cluster, "off")
            cluster.origin.serve("/later", [2])
            let catalog = try await cluster.submit([try cluster.file("/later")])
            // Its work waits while another site's is done.
            let elsewhere = try TemporaryDirectory("elsewhere")
            cluster.origin.serve("/free", [3])
            let free = try await cluster.submit(
                [try cluster.file("/free")], to: "file://\(elsewhere.path)")
            _ = try await cluster.end(of: free)
            #expect(cluster.origin.count("/later") == 0)
            try await set(cluster, "")
            let ended = try await cluster.end(of: catalog)
            #expect(ended["/later"]?.state == .completed)
        }
    }
}
