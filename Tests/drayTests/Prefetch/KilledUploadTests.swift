import Digest
import Foundation
import Model
import S3
import Synchronization
import TestSupport
import Testing

@testable import Storage

extension EndToEnd {
    /// Workers that are killed while they send an object to a bucket.
    @Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct KilledUploadTests {
        private static func storage(_ url: String, _ spool: String) throws -> S3Storage {
            let parsed = try StorageURL(url)
            return try S3Storage(
                parsed, try #require(parsed.bucket),
                access: BucketAccess(
                    BucketOptions(spool: spool, environment: S3Server.environment)))
        }

        /// Another worker, with a spool of its own, continues the upload by its recorded parts.
        @Test(arguments: S3Server.installed)
        func theNextWorkerEndsTheUpload(_ kind: S3Server.Kind) async throws {
            let origin = try FaultOrigin()
            let gate = Gate()
            defer { gate.open() }
            let body = sampleBytes(56 << 20 | 5)
            origin.route("/files/a.bin") { request in
                let answer = request.serve(body, etag: "\"v1\"")
                return request.number == 1 ? answer.held(after: 40 << 20, at: gate) : answer
            }
            let site = try await S3Server.shared(kind)
                .url("killed-\(UInt32.random(in: 0...999_999))")
            let spools = try (0..<3).map { _ in try TemporaryDirectory("spool") }
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 2, leaseSeconds: 5)
            for spool in spools.prefix(2) {
                var environment = S3Server.environment
                environment["DRAY_SPOOL"] = spool.path
                try cluster.startWorker(
                    ["--connections", "2", "--allow-addresses", "127.0.0.0/8"], roots: [site],
                    environment: environment)
            }
            try await cluster.waitForWorkers(2)
            let prefetch = try cluster.start([
                "prefetch", origin.url("/files/a.bin"), "--to", site, "--name", "one",
            ])
            let storage = try Self.storage(site, spools[2].path)
            let key = storage.key(try ObjectKey("127.0.0.1:\(origin.port)/files/a.bin"))
            var begun: String?
            try await waitUntil(deadlineSeconds: 60, "two parts in the bucket") {
                guard
                    let content = try await storage.client.getSmall(storage.recordKey(of: key)),
                    let record = UploadRecord(content)
                else { return false }
                guard case .begun(let id) = record.state else { return false }
                begun = id
                return try await storage.client.parts(of: key, upload: id)?.count == 2
            }
            let upload = try #require(begun)
            var holder: ChildProcess?
            for worker in cluster.workers where try await cluster.jobsHeld(by: worker) > 0 {
                holder = worker
            }
            let killed = try #require(holder)
            killed.signal(SIGKILL)
            #expect(try await killed.wait() == .signalled(SIGKILL))
            #expect(try await storage.list().objects.isEmpty)
            #expect(try await prefetch.wait(deadlineSeconds: 60) == .exited(0))
            let digest = ExpectedDigest(SHA256Digest(hashing: body))
            let found = await storage.reuse(
                key: "127.0.0.1:\(origin.port)/files/a.bin", bytes: nil, digests: [digest])
            #expect(found?.bytes == Int64(body.count))
            // The parts of the killed worker were used: its upload is the one that ended.
            #expect(try await storage.client.parts(of: key, upload: upload) == nil)
            #expect(try await storage.client.uploads(prefix: storage.prefix).isEmpty)
            let own = try await storage.client.list(prefix: storage.privateKey("")).objects
            #expect(own.map(\.key) == [storage.digestKey(of: key)])
            try await cluster.stop()
        }

        // MARK: Many small objects

        private static func path(_ number: Int) -> String { "/files/\(number).bin" }

        /// Serves a version of all files, each with bytes of its own.
        private static func serve(_ origin: FaultOrigin, version: Int) -> [String: [UInt8]] {
            var bodies: [String: [UInt8]] = [:]
            for number in 0..<60 {
                let body = sampleBytes(
                    2_000 + number, seed: UInt64(1_000 * version + number + 1))
                bodies["127.0.0.1:\(origin.port)\(path(number))"] = body
                origin.serve(path(number), body, etag: "\"v\(version)\"")
            }
            return bodies
        }

        /// Returns the keys of the objects that have these bytes.
        private static func keys(
            in storage: S3Storage, having bodies: [String: [UInt8]]
        ) async throws -> Set<String> {
            var found: Set<String> = []
            for object in try await storage.list().objects {
                guard let body = bodies[object.key] else { continue }
                let name = storage.key(try ObjectKey(object.key))
                if try await storage.client.getSmall(name) == body { found.insert(object.key) }
            }
            return found
        }

        private static func isObject(_ request: FaultOrigin.Request) -> Bool {
            request.method == "PUT" && request.path.hasSuffix(".bin")
        }

        /// A worker is killed while the server has half of each of its PUTs. The rest arrives after
        /// another worker has stored newer files.
        @Test(arguments: S3Server.installed)
        func latePutsOfAKilledWorkerReplaceNothing(_ kind: S3Server.Kind) async throws {
            let origin = try FaultOrigin()
            let older = Self.serve(origin, version: 1)
            let server = try await S3Server.shared(kind)
            let gate = Gate()
            defer { gate.open() }
            let passed = Mutex(0)
            let isKilled = Atomic(false)
            let proxy = try RequestProxy(to: server.port) { request in
                guard Self.isObject(request), !isKilled.load(ordering: .relaxed) else {
                    return .forward
                }
                return passed.withLock { passed in
                    passed += 1
                    return passed > 20 ? .hold(gate) : .forward
                }
            }
            let site = server.url(
                "many-\(UInt32.random(in: 0...999_999))", port: Int(proxy.port))
            let spools = try (0..<3).map { _ in try TemporaryDirectory("spool") }
            let list = try spools[2].write(
                (0..<60).map { origin.url(Self.path($0)) + "\n" }.joined(), to: "list.txt")
            let storage = try Self.storage(site, spools[2].path)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 4, leaseSeconds: 5)
            func start(_ spool: TemporaryDirectory) throws -> ChildProcess {
                var environment = S3Server.environment
                environment["DRAY_SPOOL"] = spool.path
                return try cluster.startWorker(
                    ["--connections", "4", "--allow-addresses", "127.0.0.0/8"], roots: [site],
                    environment: environment)
            }
            let first = try start(spools[0])
            try await cluster.waitForWorkers(1)
            let prefetch = try cluster.start(["prefetch", list, "--to", site, "--name", "many"])
            try await waitUntil(deadlineSeconds: 60, "half of several PUTs") {
                gate.waiting > 1 && proxy.replies.count { Self.isObject($0.request) } == 20
            }
            first.signal(SIGKILL)
            #expect(try await first.wait() == .signalled(SIGKILL))
            isKilled.store(true, ordering: .relaxed)
            let held = gate.waiting
            let passedTargets = Set(proxy.replies.map(\.request.target))
            let whole = try await Self.keys(in: storage, having: older)
            #expect(whole.count == 20)
            #expect(Set(try await storage.list().objects.map(\.key)) == whole)

            let newer = Self.serve(origin, version: 2)
            _ = try start(spools[1])
            #expect(try await prefetch.wait(deadlineSeconds: 60) == .exited(0))
            let replaced = try await Self.keys(in: storage, having: newer)
            #expect(replaced.isSuperset(of: Set(newer.keys).subtracting(whole)))
            gate.open()
            // The first requests for keys that had no object when the worker was killed.
            func late() -> [RequestProxy.Reply] {
                proxy.replies.filter { reply in
                    Self.isObject(reply.request) && reply.request.number == 1
                        && !passedTargets.contains(reply.request.target)
                }
            }
            try await waitUntil(deadlineSeconds: 60, "the replies to the late PUTs") {
                late().count { $0.status == 412 } == held
            }
            #expect(try await Self.keys(in: storage, having: newer) == replaced)
            #expect(try await Self.keys(in: storage, having: older) == whole.subtracting(replaced))
            try await cluster.stop()
        }
    }
}
