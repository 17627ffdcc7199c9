import Model
import Storage
import Synchronization
import TestSupport
import Testing
import Transfer

@Suite("Transfers that succeed")
struct TransferTests {
    let origin: FaultOrigin
    let fetcher: Fetcher

    init() throws {
        origin = try FaultOrigin()
        fetcher = try Fetcher()
    }

    @Test("stores the origin's bytes with their digest")
    func storesBytes() async throws {
        let body = sampleBytes(1_000_003)
        origin.serve("/a.bin", body, etag: "\"v1\"")
        var request = fetcher.request(origin.url("/a.bin?sig=secret"), key: "o/a.bin")
        request.expected.bytes = Int64(body.count)
        request.expected.sha256 = sha256(body).uppercased()
        let result = await fetcher.fetch(request)
        let fetched = try result.outcome.get()
        #expect(fetched.bytes == Int64(body.count))
        #expect(fetched.sha256 == sha256(body))
        #expect(fetched.response.etag == "\"v1\"")
        #expect(!fetched.isFirstPart)
        #expect(result.httpStatus == 200)
        let object = try #require(fetched.object)
        for outcome in fetcher.storage.commit([object]) { try outcome.get() }
        #expect(try fetcher.directory.read("o/a.bin") == body)
        #expect(try fetcher.temporaries().isEmpty)
    }

    @Test("asks as Dray does")
    func requestHeaders() async throws {
        origin.serve("/a", [1, 2, 3])
        var request = fetcher.memory(origin.url("/a"))
        request.access.headers = ["X-Extra: yes"]
        _ = try await fetcher.fetch(request).outcome.get()
        let headers = try #require(origin.requests.first).headers
        #expect(headers["accept-encoding"] == "identity")
        #expect(headers["user-agent"]?.hasPrefix("dray/\(drayVersion)") == true)
        #expect(headers["x-extra"] == "yes")
        #expect(headers["range"] == nil)
        #expect(headers["referer"] == nil)
    }

    @Test("fetches into memory")
    func intoMemory() async throws {
        let body = Array("#EXTM3U\n".utf8)
        origin.route("/m", .init(headers: [("Content-Type", "audio/mpegurl")], body: body))
        let fetched = try await fetcher.fetch(fetcher.memory(origin.url("/m"))).outcome.get()
        #expect(fetched.body == body)
        #expect(fetched.response.contentType == "audio/mpegurl")
        #expect(fetched.object == nil)
    }

    @Test("stores an empty object")
    func emptyObject() async throws {
        origin.route("/empty", .init(body: []))
        let fetched = try await fetcher.fetch(fetcher.request(origin.url("/empty"))).outcome.get()
        #expect(fetched.bytes == 0)
        #expect(fetched.sha256 == sha256([]))
        #expect(fetched.object != nil)
    }

    @Test("reads chunked bodies")
    func chunked() async throws {
        let text = "4\r\nabcd\r\n3\r\nefg\r\n0\r\n\r\n"
        origin.route("/c", .init(headers: [("Transfer-Encoding", "chunked")], text: text))
        let fetched = try await fetcher.fetch(fetcher.memory(origin.url("/c"))).outcome.get()
        #expect(fetched.body == Array("abcdefg".utf8))
    }

    @Test("reuses connections, and no header of an answer before")
    func reuse() async throws {
        let fetcher = try Fetcher {
            $0.loops = 1; $0.connections = 1
        }
        origin.serve("/first", [1], etag: "\"one\"")
        origin.route("/second", .init(body: [2]))
        _ = try await fetcher.fetch(fetcher.memory(origin.url("/first"))).outcome.get()
        let second = try await fetcher.fetch(fetcher.memory(origin.url("/second"))).outcome.get()
        #expect(second.response.etag == nil)
        #expect(origin.acceptedConnections == 1)
    }

    @Test("replaces a connection that the origin closed meanwhile", .timeLimit(.minutes(1)))
    func staleConnection() async throws {
        let fetcher = try Fetcher {
            $0.loops = 1; $0.connections = 1
        }
        origin.serve("/a", [1])
        for _ in 0..<5 {
            _ = try await fetcher.fetch(fetcher.memory(origin.url("/a"))).outcome.get()
            origin.cutConnections()
        }
        #expect(origin.count("/a") == 5)
    }

    @Test("reports its progress and its state")
    func progress() async throws {
        let gate = Gate()
        let body = sampleBytes(50_000)
        origin.route("/slow", FaultOrigin.Response(body: body).held(after: 20_000, at: gate))
        let ended = AsyncStream<TransferResult>.makeStream()
        let transfer = fetcher.engine.submit(fetcher.request(origin.url("/slow"))) { _, result in
            ended.continuation.yield(result)
        }
        try await waitUntil(deadlineSeconds: 60) { transfer.receivedBytes == 20_000 }
        #expect(transfer.state == .receiving)
        gate.open()
        for await result in ended.stream {
            #expect(try result.outcome.get().bytes == 50_000)
            break
        }
        #expect(transfer.state == .fetched)
    }

    @Test("follows redirects by hand")
    func redirects() async throws {
        origin.route("/start", .redirect(to: "/hop?x=1", status: 301))
        origin.route("/hop", .redirect(to: "end/a.m3u8", status: 307))
        origin.serve("/end/a.m3u8", Array("#EXTM3U".utf8))
        let fetched = try await fetcher.fetch(fetcher.memory(origin.url("/start"))).outcome.get()
        #expect(fetched.response.finalURL == origin.url("/end/a.m3u8"))
        #expect(fetched.body == Array("#EXTM3U".utf8))
    }

    @Test("keeps credentials at their origin")
    func credentials() async throws {
        let other = try FaultOrigin()
        other.serve("/b", [1])
        origin.route("/same", .redirect(to: "/away"))
        origin.route("/away", .redirect(to: "http://evil:pw@127.0.0.1:\(other.port)/b"))
        let url = "http://ann:pw@127.0.0.1:\(origin.port)/same"
        var request = fetcher.memory(url)
        request.access.headers = ["Cookie: session=1", "X-Token: 2"]
        let fetched = try await fetcher.fetch(request).outcome.get()
        #expect(origin.requests.count == 2)
        for request in origin.requests {
            #expect(request.headers["authorization"] == "Basic YW5uOnB3")
            #expect(request.headers["cookie"] == "session=1")
        }
        let foreign = try #require(other.requests.first)
        #expect(foreign.headers["authorization"] == nil)
        #expect(foreign.headers["cookie"] == nil)
        #expect(foreign.headers["x-token"] == nil)
        #expect(foreign.headers["referer"] == nil)
        #expect(!fetched.response.finalURL.contains("@"))
    }

    @Test("keeps to the connection limit and answers each once", .timeLimit(.minutes(2)))
    func manyTransfers() async throws {
        let directory = try TemporaryDirectory("origin")
        let bodies = (0..<20).map { sampleBytes(5_000 + $0, seed: UInt64($0 + 1)) }
        for (index, body) in bodies.enumerated() { try directory.write(body, to: "\(index).bin") }
        let nginx = try await NginxServer(root: directory.path)
        let fetcher = fetcher
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1_000 {
                group.addTask {
                    let index = number % bodies.count
                    let request = fetcher.request(
                        "\(nginx.url)/\(index).bin", key: "o/\(number).bin")
                    let fetched = try? await fetcher.fetch(request).outcome.get()
                    return fetched?.sha256 == sha256(bodies[index])
                }
            }
            for await isRight in group { #expect(isRight) }
        }
        #expect(fetcher.engine.waitingCount == 0)
    }
}
