import Foundation
import Model
import Storage
import TestSupport
import Testing
import Transfer

/// A site's disk that fails while a body comes: the transfer ends with the disk's failure, nothing of
/// it stays, and the other transfers continue.
@Suite("Disks that fail in the middle of a body", .timeLimit(.minutes(3)))
struct FailingDiskTests {
    @Test(
        "a write that fails",
        .enabled("needs strace and leave to trace") { await TracedTest.isPossible() },
        arguments: [
            ("EIO", "storage.io"), ("ENOSPC", "storage.full"), ("EDQUOT", "storage.full"),
            ("EROFS", "storage.readOnly"), ("EFBIG", "storage.tooLarge"),
        ])
    func failingWrite(error: String, code: String) async throws {
        // The first write is that of the probe when a site is opened.
        let inject = "inject=pwrite64:error=\(error):when=4+"
        let trace = try await TracedTest.run(
            "UnderFailingWrites/fails", under: ["-e", "trace=pwrite64", "-e", inject],
            environment: [FailingWrites.variable: code])
        let writes = trace.split(separator: "\n").filter { $0.contains(" pwrite64(") }
        #expect(writes.contains { $0.contains("INJECTED") } && writes.count >= 4)
    }

    @Test(
        "a disk that is full before a body of unknown length is",
        .enabled("needs root that may mount a tmpfs") { await SmallFileSystem.isAllowed() })
    func fullDisk() async throws {
        let disk = try await SmallFileSystem(options: "size=1m")
        let storage = try DirectoryStorage(
            StorageURL(directory: disk.directory.path), durability: .none)
        let origin = try FaultOrigin()
        var endless = FaultOrigin.Response.endless(sampleBytes(65_536))
        endless.headers.append(("Content-Type", "video/mp2t"))
        origin.route("/endless", endless)
        origin.serve("/small", sampleBytes(100_000))
        let fetcher = try Fetcher()
        func request(_ path: String, job: Int64) -> TransferRequest {
            TransferRequest(
                url: origin.url(path), group: "lease-1",
                destination: .object { (bytes) throws(Failure) in
                    try storage.createTemporary(
                        lease: "lease-1", job: JobID(job), key: "o/\(job)",
                        reservingBytes: bytes ?? 0)
                }, role: .media)
        }
        for job in [1, 2] as [Int64] {
            let code = await fetcher.failure(request("/endless", job: job))
            #expect(["storage.full", "storage.outgrown"].contains(code), "\(code as Any)")
            // Its space was released.
            #expect(try disk.directory.files().isEmpty)
        }
        try await waitUntil(deadlineSeconds: 60, "the room") {
            try storage.availableBytes() > 500_000
        }
        let next = try await fetcher.fetch(request("/small", job: 3)).outcome.get()
        for result in storage.commit([try #require(next.object)]) { try result.get() }
        #expect(try disk.directory.read("o/3") == sampleBytes(100_000))
    }
}

private enum FailingWrites {
    static let variable = "DRAY_TEST_FAILING_WRITES"
}

@Suite(
    .enabled(
        if: ProcessInfo.processInfo.environment[FailingWrites.variable] != nil,
        "run by FailingDiskTests"))
struct UnderFailingWrites {
    /// Bodies with a length and without, small blocks and one that another thread hashes.
    @Test(.timeLimit(.minutes(2)))
    func fails() async throws {
        let code = ProcessInfo.processInfo.environment[FailingWrites.variable]
        let origin = try FaultOrigin()
        let body = [UInt8](repeating: 7, count: 17 << 20)
        origin.serve("/large", body, etag: "\"v\"")
        var endless = FaultOrigin.Response.endless()
        endless.headers.append(("Content-Type", "video/mp2t"))
        origin.route("/endless", endless)
        let fetcher = try Fetcher { $0.loops = 1 }
        for (number, path) in ["/large", "/endless"].enumerated() {
            let before = try fetcher.directory.files()
            async let beside = fetcher.fetch(fetcher.memory(origin.url("/large"), role: .media))
            let request = fetcher.request(origin.url(path), key: "o/\(number)")
            let result = await fetcher.fetch(request)
            let failure = #expect(throws: Failure.self) { try result.outcome.get() }
            #expect(failure?.code.rawValue == code)
            #expect(result.left == nil)
            #expect(try fetcher.directory.files() == before)
            // It needs no disk.
            #expect(try await beside.outcome.get().bytes == Int64(body.count))
        }
    }
}
