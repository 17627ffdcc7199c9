import API
import CoordinatorClient
import Digest
import Glibc
import Model
import Synchronization
import TestSupport
import Testing

@testable import Storage
@testable import Worker

@Suite struct ResumeTests {
    typealias C = Cluster
    static let body = sampleBytes(4 << 20 | 4_321)
    static let path = "/files/film.bin"
    static let cut = 3 << 20

    @Test func anInterruptedFileIsResumed() async throws {
        try await C.with { cluster in
            cluster.origin.route(Self.path) { request in
                let answer = request.serve(Self.body, etag: "\"v1\"")
                return request.number == 1 ? answer.cut(after: Self.cut) : answer
            }
            let ended = try await cluster.run([
                try cluster.file(Self.path, sha256: C.sha256(Self.body))
            ])
            #expect(ended[Self.path]?.state == .completed)
            #expect(ended[Self.path]?.retries == 1)
            #expect(cluster.stored(Self.path) == Self.body)
            let ranges = cluster.origin.requests.map { $0.headers["range"] }
            #expect(ranges == [nil, "bytes=\(Self.cut)-"])
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    @Test func anotherWorkerResumesWhereOneWasStopped() async throws {
        try await C.with(workers: 0) { cluster in
            let (gate, rest) = (Gate(), Gate())
            cluster.origin.route(Self.path) { request in
                let answer = request.serve(Self.body, etag: "\"v1\"")
                return request.number == 1
                    ? answer.held(after: Self.cut, at: gate) : answer.held(after: 1_000, at: rest)
            }
            let first = try cluster.startWorker(drainSeconds: 0)
            let catalog = try await cluster.submit([try cluster.file(Self.path)])
            try await gate.waitUntilReached()
            try await waitUntil(deadlineSeconds: 60, "the bytes before the gate") {
                first.service.core.held.progress().byAsset.values.contains {
                    $0.receivedBytes >= Self.cut
                }
            }
            try await first.drain()
            gate.open()
            let second = try cluster.startWorker()
            try await rest.waitUntilReached()
            try await waitUntil(deadlineSeconds: 60, "the first of the rest") {
                // The resumed bytes and the whole length are known with the header.
                second.service.core.held.progress().byAsset.values.contains {
                    $0.receivedBytes >= Self.cut && $0.expectedBytes == Int64(Self.body.count)
                        && $0.resumedBytes == Int64(Self.cut)
                }
            }
            rest.open()
            let ended = try await cluster.end(of: catalog)
            #expect(ended[Self.path]?.state == .completed)
            #expect(cluster.stored(Self.path) == Self.body)
            #expect(cluster.origin.requests.last?.headers["range"] == "bytes=\(Self.cut)-")
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// A pause stops the transfer and keeps what has arrived.
    @Test func aPausedFileContinuesAtItsByte() async throws {
        try await C.with { cluster in
            let gate = Gate()
            defer { gate.open() }
            cluster.origin.route(Self.path) { request in
                let answer = request.serve(Self.body, etag: "\"v1\"")
                return request.number == 1 ? answer.held(after: Self.cut, at: gate) : answer
            }
            let catalog = try await cluster.submit([try cluster.file(Self.path)])
            func select(_ action: SelectionAction.Action) async throws -> Int {
                try await cluster.client.apply(
                    SelectionAction(action, catalog: CatalogReference(catalog))
                ).assets
            }
            try await gate.waitUntilReached()
            let worker = try #require(cluster.runningWorkers.first)
            try await waitUntil(deadlineSeconds: 60, "the bytes before the gate") {
                worker.service.core.held.progress().byAsset.values.contains {
                    $0.receivedBytes >= Self.cut
                }
            }
            #expect(try await select(.pause) == 1)
            try await waitUntil(deadlineSeconds: 60, "the end of what is held") {
                try await cluster.client.clusterStatus().queues.first?.leased == 0
            }
            #expect(cluster.stored(Self.path) == nil)
            #expect(cluster.origin.count(Self.path) == 1)
            #expect(try await select(.resume) == 1)
            let ended = try await cluster.end(of: catalog)
            #expect(ended[Self.path]?.state == .completed)
            #expect(cluster.stored(Self.path) == Self.body)
            let ranges = cluster.origin.requests.map { $0.headers["range"] }
            #expect(ranges == [nil, "bytes=\(Self.cut)-"])
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    @Test func aPartOfALargeFileIsResumed() async throws {
        try await C.with(partBytes: 2 << 20) { cluster in
            let isCut = Mutex(false)
            cluster.origin.route(Self.path) { request in
                let answer = request.serve(Self.body, etag: "\"v1\"")
                let cuts =
                    request.headers["range"]?.hasPrefix("bytes=\(2 << 20)-") == true
                    && isCut.withLock { cut in
                        defer { cut = true }
                        return !cut
                    }
                return cuts ? answer.cut(after: 3 << 19) : answer
            }
            let ended = try await cluster.run([try cluster.file(Self.path)])
            #expect(ended[Self.path]?.state == .completed)
            #expect(cluster.stored(Self.path) == Self.body)
            let ranges = cluster.origin.requests.compactMap { $0.headers["range"] }
            let end = (4 << 20) - 1
            #expect(ranges.contains("bytes=\(7 << 19)-\(end)"), "\(ranges)")
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// As a list has it that is made again: the same asset, under another query and another key.
    @Test func aFileWithAFreshSignatureIsResumed() async throws {
        try await C.with { cluster in
            cluster.origin.route(Self.path) { request in
                let answer = request.serve(Self.body, etag: "\"v1\"")
                return request.target.hasSuffix("?sig=1")
                    ? request.headers["range"] == nil
                        ? answer.cut(after: Self.cut) : FaultOrigin.Response(403)
                    : answer
            }
            var asset = try cluster.file(Self.path + "?sig=1")
            asset.name = "film"
            let first = try await cluster.run([asset])
            #expect(first["film"]?.failure?.code == "origin.signatureExpired")
            asset = try cluster.file(Self.path + "?sig=2")
            asset.name = "film"
            let second = try await cluster.run([asset])
            #expect(second["film"]?.state == .completed)
            let key = try #require(try cluster.storedPaths().first)
            #expect(cluster.stored(key) == Self.body)
            #expect(
                cluster.origin.requests.last.map { [$0.target, $0.headers["range"]] }
                    == ["\(Self.path)?sig=2", "bytes=\(Self.cut)-"])
            #expect(cluster.origin.requests.last?.headers["if-range"] == "\"v1\"")
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// Two databases that number their assets and jobs alike, and workers at one site.
    @Test func anotherClustersFileIsNotTouched() async throws {
        try await C.with { cluster in
            let isWell = Mutex(false)
            cluster.origin.route(Self.path) { request in
                let answer = request.serve(Self.body, etag: "\"v1\"")
                guard !isWell.withLock(\.self) else { return answer }
                return request.headers["range"] == nil
                    ? answer.cut(after: Self.cut) : FaultOrigin.Response(403)
            }
            let first = try await cluster.run([try cluster.file(Self.path)])
            #expect(first[Self.path]?.failure?.code == "origin.http.403")
            let left = try cluster.temporaryFiles()
            #expect(left.count == 2)
            isWell.withLock { $0 = true }
            try await C.with { other in
                // By its numbers alone it would come later.
                other.origin.serve("/before", [1])
                for number in 0..<5 {
                    _ = try await other.run(
                        [try other.file("/before")], catalog: "before-\(number)")
                }
                let site = "file://\(cluster.edge.path)"
                let asset = try cluster.file(Self.path)
                let ended = try await other.end(of: try await other.submit([asset], to: site))
                #expect(ended[Self.path]?.state == .completed)
            }
            #expect(cluster.stored(Self.path) == Self.body)
            #expect(cluster.origin.requests.last?.headers["range"] == nil)
            #expect(try cluster.temporaryFiles() == left)
            // It is still there for who left it.
            unlink(cluster.edge.path(cluster.root + Self.path))
            let second = try await cluster.run([try cluster.file(Self.path)])
            #expect(second[Self.path]?.state == .completed)
            #expect(cluster.origin.requests.last?.headers["range"] != nil)
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// The record's path is a pipe without a reader: opening it blocks.
    @Test func aRecordThatCannotBeWrittenHoldsUpNoTransfer() async throws {
        let origin = try FaultOrigin()
        let body = sampleBytes(9 << 20)
        origin.serve("/film.bin", body, etag: "\"v1\"")
        try await ScriptedCoordinator.with { coordinator in
            let lease: LeaseID = "6f1f2a9e-6d9c-4c44-9c07-3f7f9f0b8f11"
            let url = origin.url("/film.bin")
            let identity = PartialIdentity(
                url: url, key: "h/1", cluster: nil, asset: AssetID(1)
            ).name
            let pipe = coordinator.edge.path(".dray/partial/\(identity)-\(lease)-1")
            coordinator.edge.makePrivateDirectories()
            #expect(mkfifo(pipe, 0o600) == 0)
            var reader: Int32 = -1
            defer { close(reader) }
            coordinator.grant([url], lease: lease)
            await #expect(throws: Never.self) {
                try await waitUntil(deadlineSeconds: 60, "the end of the job") {
                    coordinator.jobs(.done).count == 1
                }
            }
            // Waiting openers may continue.
            reader = open(pipe, O_RDONLY | O_NONBLOCK)
            #expect(reader >= 0)
            let stored = try coordinator.edge.read("h/1")
            #expect(stored == body)
        }
    }

    @Test func theListOfFilesShowsWhatWasVerified() async throws {
        try await C.with { cluster in
            for path in ["/md5", "/none", "/stated"] { cluster.origin.serve(path, Self.body) }
            let digest = SHA256Digest(hashing: Self.body).withUnsafeBytes { Array($0) }
            cluster.origin.route("/stated") { request in
                request.serve(Self.body).with("x-amz-checksum-sha256", Self.base64(digest))
            }
            var listed = try cluster.file("/md5")
            listed.digests = "md5=\(Self.md5(Self.body))"
            let catalog = try await cluster.submit([
                listed, try cluster.file("/none"), try cluster.file("/stated"),
            ])
            _ = try await cluster.end(of: catalog)
            for _ in 1...2 {
                let files = try await cluster.client.files(of: catalog, after: nil).files
                let verified = Dictionary(
                    uniqueKeysWithValues: files.map {
                        ($0.path.split(separator: "/").last ?? "", $0.verified ?? false)
                    })
                #expect(verified == ["md5": true, "none": false, "stated": true])
                // What lies there is reused, and known as well as before.
                _ = try await cluster.run([
                    listed, try cluster.file("/none"), try cluster.file("/stated"),
                ])
            }
        }
    }

    @Test(arguments: [nil, Int64(2 << 20)])
    func aWrongDigestOfAnyKindIsAMismatch(partBytes: Int64?) async throws {
        try await C.with(partBytes: partBytes ?? 64 << 20) { cluster in
            cluster.origin.serve(Self.path, Self.body, etag: "\"v1\"")
            var asset = try cluster.file(Self.path, sha256: C.sha256(Self.body))
            asset.digests = "crc32c=01234567,md5=\(Self.md5(Self.body))"
            let ended = try await cluster.run([asset])
            #expect(ended[Self.path]?.failure?.code == "integrity.digestMismatch")
            #expect(cluster.stored(Self.path) == nil)
        }
    }

    private static func md5(_ bytes: [UInt8]) -> String {
        var set = DigestSet([.md5])
        bytes.withUnsafeBytes { set.update($0) }
        return set.finish().others.first?.hex ?? ""
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let value = (0..<3).reduce(0) {
                $0 << 8 | ($1 < group.count ? Int(group[start + $1]) : 0)
            }
            for index in 0..<4 {
                text.append(
                    index <= group.count
                        ? alphabet[value >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
