import Digest
import Foundation
import Model
import Storage
import Synchronization
import TestSupport
import Transfer

/// An engine and a site of a test's own.
final class Fetcher: Sendable {
    let engine: TransferEngine
    let directory: TemporaryDirectory
    let storage: DirectoryStorage
    private let nextJob = Atomic<Int64>(1)

    init(_ adjust: (inout TransferEngine.Options) -> Void = { _ in }) throws {
        var options = TransferEngine.Options()
        options.loops = 2
        options.connections = 8
        options.tickSeconds = 0.02
        adjust(&options)
        engine = try TransferEngine(options: options)
        directory = try TemporaryDirectory("transfer")
        storage = try DirectoryStorage(
            StorageURL(directory: directory.path), durability: .none)
    }

    deinit {
        let engine = engine
        // The last reference may go with the end of a transfer, on a loop, which cannot join itself.
        let thread = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        if thread?.hasPrefix("transfer-") ?? true {
            DispatchQueue.global().async { engine.shutdown() }
        } else {
            engine.shutdown()
        }
    }

    /// A request into the site's storage.
    func request(
        _ url: String, key: String = "o/x", role: SegmentRole = .media, group: String = "lease-1"
    ) -> TransferRequest {
        let job = JobID(nextJob.wrappingAdd(1, ordering: .relaxed).oldValue)
        return TransferRequest(
            url: url, group: group,
            destination: .object { [storage] (bytes) throws(Failure) in
                try storage.createTemporary(
                    lease: LeaseID(stringLiteral: group), job: job, key: key,
                    reservingBytes: bytes ?? 0)
            }, role: role)
    }

    /// A request into memory.
    func memory(_ url: String, role: SegmentRole = .playlist) -> TransferRequest {
        TransferRequest(url: url, group: "lease-1", destination: .memory, role: role)
    }

    func fetch(_ request: TransferRequest) async -> TransferResult {
        // The runtime's own library is not instrumented: what is resumed before it is awaited has no
        // order that the thread sanitizer would see.
        let order = Atomic(false)
        defer { _ = order.load(ordering: .acquiring) }
        return await withCheckedContinuation { continuation in
            engine.submit(request) { _, result in
                order.store(true, ordering: .releasing)
                continuation.resume(returning: result)
            }
        }
    }

    /// Fetches and answers the failure's code; nil for a success.
    func failure(_ request: TransferRequest) async -> FailureCode? {
        switch await fetch(request).outcome {
        case .success: nil
        case .failure(let failure): failure.code
        }
    }

    /// Names of unfinished files.
    func temporaries() throws -> [String] {
        try directory.files().filter { $0.hasPrefix(".dray/tmp/") }
    }
}

func sha256(_ bytes: [UInt8]) -> String { SHA256Digest(hashing: bytes).description }
