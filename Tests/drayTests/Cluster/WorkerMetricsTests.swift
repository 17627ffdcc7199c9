import Foundation
import Model
import TestSupport
import Testing

/// `dray worker --metrics-listen`, and `/metrics` of `dray coordinator`.
@Suite(.timeLimit(.minutes(2))) struct WorkerMetricsTests {
    @Test func bothKindsOfProcessesAreScraped() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", [UInt8](repeating: 7, count: 4_000))
        let cluster = try await ProcessCluster(
            coordinators: 1, workers: 0, connections: 4, leaseSeconds: 30)
        let worker = try cluster.startWorker([
            "--metrics-listen", "127.0.0.1:0", "--connections", "5",
            "--allow-addresses", "127.0.0.0/8",
        ])
        let port = try await MetricsPage.port(of: worker)
        let health = try await Wire.exchange(port: port, "GET", "/health")
        #expect(health.status == 200 && health.body == "ok\n")

        let edge = try TemporaryDirectory("edge")
        let run = try cluster.start(["prefetch", origin.url("/a"), "--to", edge.path])
        #expect(try await run.wait() == .exited(0), "\(run.errors)")
        let page = try await Wire.exchange(port: port, "GET", "/metrics")
        #expect(page.body.contains("dray_worker_slots 5\n"))
        #expect(
            page.body.contains(
                "dray_worker_received_bytes_total{origin=\"\(origin.url())\"} 4000\n"))

        let coordinator = try await Wire.exchange(
            port: cluster.coordinators[0].port, "GET", "/metrics",
            headers: ProcessCluster.authorization)
        #expect(coordinator.status == 200 && coordinator.body.contains("dray_leases_total"))
        try await cluster.stop()
        await #expect(throws: Wire.Failure.self) {
            try await Wire.exchange(port: port, "GET", "/health")
        }
    }

    @Test func anAddressOfAnotherMachineIsRefused() async throws {
        let worker = try DrayProcess.start([
            "worker", "--coordinator", "http://127.0.0.1:1", "--root", "/tmp",
            "--metrics-listen", "192.0.2.1:0",
        ])
        #expect(try await worker.wait() == .exited(2))
        #expect(worker.errors.contains("--metrics-listen: 192.0.2.1:0 is not an address"))
    }
}
