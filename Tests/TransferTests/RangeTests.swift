import Model
import Storage
import Synchronization
import TestSupport
import Testing
import Transfer

@Suite("Byte ranges and splitting")
struct RangeTests {
    let origin: FaultOrigin
    let fetcher: Fetcher
    let body = sampleBytes(300_000)
    private static let id: MultipartID = "large"

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher()
    }

    private func part(
        _ offset: Int64, _ length: Int64, validator: String? = "\"v1\"", total: Int64? = 300_000
    ) -> TransferRequest {
        let storage = fetcher.storage
        var request = TransferRequest(
            url: origin.url("/large.mp4"), group: "lease-1",
            destination: .object { (_) throws(Failure) in
                try storage.openMultipart(
                    id: Self.id, offset: offset, length: length, of: 300_000, isNew: true)
            }, role: .media)
        request.range = .init(
            offset: offset, length: length, totalBytes: total, validator: validator)
        return request
    }

    /// The failure when a range's correct answer is changed by `change`.
    private func code(
        validator: String? = "\"v1\"",
        _ change: @escaping @Sendable (FaultOrigin.Response) -> FaultOrigin.Response
    ) async -> FailureCode? {
        let body = body
        origin.route("/large.mp4") { change($0.serve(body, etag: "\"v1\"")) }
        return await fetcher.failure(part(100, 50_000, validator: validator))
    }

    @Test("ranges from several transfers make one file")
    func multipart() async throws {
        origin.serve("/large.mp4", body, etag: "\"v1\"")
        let digests = try await withThrowingTaskGroup(of: (Int64, Int64, String).self) { group in
            for offset in stride(from: Int64(0), to: 300_000, by: 70_000) {
                let length = min(70_000, 300_000 - offset)
                let request = part(offset, length)
                group.addTask {
                    let fetched = try await fetcher.fetch(request).outcome.get()
                    #expect(fetched.bytes == length)
                    return (offset, length, fetched.sha256)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for (offset, length, digest) in digests {
            #expect(digest == sha256(Array(body[Int(offset)..<Int(offset + length)])))
        }
        #expect(try fetcher.directory.read(".dray/multipart/\(Self.id)") == body)
        for request in origin.requests {
            #expect(request.headers["if-range"] == "\"v1\"")
        }
    }

    @Test("a range is compared with the requested one")
    func contentRange() async {
        #expect(await code { $0 } == nil)
        #expect(await code { $0.without("Content-Range") } == "origin.rangeMismatch")
        for wrong in ["bytes 101-50099/300000", "bytes 100-50098/300000", "bytes 0-49999/300000"] {
            #expect(await code { $0.with("Content-Range", wrong) } == "origin.rangeMismatch")
        }
        #expect(
            await code { $0.with("Content-Range", "bytes 100-50099/300001") } == "content.changed")
        #expect(
            await code { $0.with("Content-Range", "bytes 100-50099/*") } == "origin.rangeMismatch")
    }

    /// The result of a range of an object that grows: its failure, or what is stored.
    private func alone(
        _ change: @escaping @Sendable (FaultOrigin.Response) -> FaultOrigin.Response
    ) async throws -> Result<[UInt8], Failure> {
        let body = body
        origin.route("/large.mp4") { change($0.serve(body, etag: "\"v\($0.number)\"")) }
        var request = fetcher.request(origin.url("/large.mp4"))
        request.range = .init(offset: 100, length: 50_000)
        request.range?.isAlone = true
        switch await fetcher.fetch(request).outcome {
        case .failure(let failure): return .failure(failure)
        case .success(let fetched):
            defer { fetched.object?.discard() }
            #expect(fetched.bytes == 50_000 && fetched.stated.isEmpty)
            let name = try #require(try fetcher.temporaries().first)
            return .success(try fetcher.directory.read(name))
        }
    }

    @Test("a range of an object that grows is a file of its own")
    func rangeOfGrowingObject() async throws {
        let bytes = Array(body[100..<50_100])
        #expect(try await alone { $0 }.get() == bytes)
        #expect(origin.requests.last?.headers["if-range"] == nil)
        // Neither its length nor its validator stays; a digest is that of the whole.
        let digest = "sha-256=:\(String(repeating: "A", count: 43))=:"
        let changes: [(String, String)] = [
            ("Content-Range", "bytes 100-50099/50100"), ("Content-Range", "bytes 100-50099/*"),
            ("Content-Range", "bytes 100-50099/900000"), ("Repr-Digest", digest),
        ]
        for (name, value) in changes {
            #expect(try await alone { $0.with(name, value) }.get() == bytes, "\(value)")
        }
        let wrong: [(FailureCode, @Sendable (FaultOrigin.Response) -> FaultOrigin.Response)] = [
            ("origin.rangeMismatch", { $0.with("Content-Range", "bytes 0-49999/50000") }),
            ("origin.truncated", { $0.cut(after: 10_000) }),
            ("origin.rangeIgnored", { _ in .init(body: [1, 2, 3]) }),
        ]
        for (code, change) in wrong {
            guard case .failure(let failure) = try await alone(change) else {
                Issue.record("no \(code)")
                continue
            }
            #expect(failure.code == code)
        }
        #expect(try fetcher.temporaries().isEmpty)
    }

    /// A recording stores ranges of files that grow: space for them would be reserved.
    @Test("a range that is too large is not opened", arguments: [true, false])
    func tooLarge(isOfOrigin: Bool) async throws {
        let fetcher = try Fetcher { options in
            if isOfOrigin { options.origins.standard.maximumBytes = 49_999 }
        }
        origin.serve("/large.mp4", body)
        let isOpened = Atomic(false)
        var request = TransferRequest(
            url: origin.url("/large.mp4"), group: "lease-1",
            destination: .sink { (_) throws(Failure) in
                isOpened.store(true, ordering: .sequentiallyConsistent)
                throw Failure(.workerInternal, "opened")
            }, role: .media)
        if !isOfOrigin { request.expected.maximumBytes = 49_999 }
        request.range = .init(offset: 100, length: 50_000)
        request.range?.isAlone = true
        #expect(await fetcher.failure(request) == "origin.tooLarge")
        let wasOpened = isOpened.load(ordering: .sequentiallyConsistent)
        #expect(!wasOpened)
        request.range?.length = 49_999
        #expect(await fetcher.failure(request) == "worker.internal")
    }

    @Test("a changed object is never mixed in")
    func changed() async throws {
        #expect(await code { $0.with("ETag", "\"v2\"") } == "content.changed")
        #expect(await code { $0.with("ETag", "W/\"v1\"") } == "content.changed")
        // The origin honours If-Range and answers 200 with the new object.
        #expect(await code(validator: "\"v0\"") { $0 } == "content.changed")
        // It ignores ranges altogether.
        #expect(await code { _ in .init(body: [1, 2, 3]) } == "content.changed")
        let multipart = try? fetcher.directory.read(".dray/multipart/\(Self.id)")
        #expect(multipart == nil)
    }

    @Test("a range that ends early or late")
    func lengths() async {
        let short = await code { $0.cut(after: 10_000) }
        #expect(short == "origin.truncated")
        let long = await code { response in
            var longer = response.with("Connection", "close")
            longer.headers.append(("Transfer-Encoding", "identity"))
            longer.steps = [.send(response.body + [0])]
            return longer
        }
        #expect(long == "origin.rangeMismatch")
        let misstated = await code { $0.with("Content-Length", "49999") }
        #expect(misstated == "origin.rangeMismatch")
    }

    @Test("a range beyond the end")
    func beyond() async {
        origin.serve("/large.mp4", Array(body.prefix(50)), etag: "\"v1\"")
        #expect(await fetcher.failure(part(100, 50)) == "origin.http.416")
    }

    @Test("a Last-Modified date serves as validator")
    func lastModified() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let body = body
        origin.route("/large.mp4") { $0.serve(body, lastModified: date) }
        #expect(await fetcher.failure(part(0, 10, validator: date)) == nil)
        origin.route("/large.mp4") {
            $0.serve(body, lastModified: date).with(
                "Last-Modified", "Mon, 07 Nov 1994 08:49:37 GMT")
        }
        #expect(await fetcher.failure(part(0, 10, validator: date)) == "content.changed")
    }

    // MARK: Splitting

    private func split(
        _ change: @escaping @Sendable (FaultOrigin.Response) -> FaultOrigin.Response
    ) async throws -> (fetched: Fetched, large: [LargeObject]) {
        let body = body
        origin.route("/large.mp4") { change($0.serve(body, etag: "\"v1\"")) }
        var request = fetcher.request(origin.url("/large.mp4"))
        request.expected.sha256 = sha256(body)
        let seen = Seen<LargeObject>()
        request.delivery.split = TransferRequest.SplitRule(partBytes: 100_001) { large, _ in
            seen.append(large)
            return nil
        }
        let fetched = try await fetcher.fetch(request).outcome.get()
        return (fetched, seen.all)
    }

    @Test("a large object ends after its first part")
    func firstPart() async throws {
        let (fetched, large) = try await split { $0 }
        #expect(large == [LargeObject(totalBytes: 300_000, validator: "\"v1\"")])
        #expect(fetched.isFirstPart)
        #expect(fetched.bytes == 100_001)
        #expect(fetched.sha256 == sha256(Array(body.prefix(100_001))))
        let name = try #require(try fetcher.temporaries().first)
        #expect(try fetcher.directory.read(name) == Array(body.prefix(100_001)))
        #expect(fetched.object != nil)
        // The connection was closed: the next request needs another.
        #expect(await fetcher.failure(part(0, 10)) == nil)
        #expect(origin.acceptedConnections == 2)
    }

    /// To open a sink may empty it, as a command's file is: parts that others fetch must not be there yet.
    @Test("others are notified of a large object once its destination is open")
    func placeBeforeParts() async throws {
        struct Sink: TransferSink {
            func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {}
        }
        origin.serve("/large.mp4", body, etag: "\"v1\"")
        let seen = Seen<String>()
        var request = TransferRequest(
            url: origin.url("/large.mp4"), group: "fetch",
            destination: .sink { (_) throws(Failure) in
                seen.append("open")
                return Sink()
            }, role: .file)
        request.delivery.split = TransferRequest.SplitRule(partBytes: 100_001) { _, _ in
            seen.append("large")
            return nil
        }
        #expect(try await fetcher.fetch(request).outcome.get().isFirstPart)
        #expect(seen.all == ["open", "large"])
    }

    @Test("an object that cannot be fetched in parts is fetched whole")
    func notSplittable() async throws {
        let changes: [@Sendable (FaultOrigin.Response) -> FaultOrigin.Response] = [
            { $0.without("Accept-Ranges") }, { $0.with("Accept-Ranges", "none") },
            { $0.with("ETag", "W/\"v1\"") }, { $0.without("ETag") },
        ]
        for change in changes {
            let (fetched, large) = try await split(change)
            #expect(large.isEmpty)
            #expect(!fetched.isFirstPart)
            #expect(fetched.sha256 == sha256(body))
            fetched.object?.discard()
        }
    }

    @Test("an object of just the limit is not split")
    func atLimit() async throws {
        let exact = Array(body.prefix(100_001))
        origin.serve("/exact", exact, etag: "\"v1\"")
        var request = fetcher.request(origin.url("/exact"))
        request.delivery.split = TransferRequest.SplitRule(partBytes: 100_001) { _, _ in
            Issue.record("split at the limit")
            return nil
        }
        let fetched = try await fetcher.fetch(request).outcome.get()
        #expect(!fetched.isFirstPart)
        #expect(fetched.bytes == 100_001)
    }
}
