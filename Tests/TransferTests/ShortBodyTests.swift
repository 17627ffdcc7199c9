import Digest
import Model
import Storage
import TestSupport
import Testing
import Transfer

/// Short bodies, one after the other and, where this processor can, several at a time.
@Suite("Short bodies hashed together")
struct ShortBodyTests {
    static let lanes: [Int?] = [nil] + [8, 16].filter { SHA256Lanes(count: $0) != nil }

    @Test("each has its own digest, its own verdict and its own file", arguments: lanes)
    func ownDigests(lanes: Int?) async throws {
        let origin = try FaultOrigin()
        let fetcher = try Fetcher {
            $0.digestBatch = lanes
            $0.connections = 48
        }
        // Around the length from which on a body is hashed as it arrives, and one that is hashed so.
        let lengths = [0, 1, 63, 64, 5_000, 65_536, 131_071, 131_072, 131_073, 300_000]
        let bodies = (0..<120).map {
            sampleBytes(lengths[$0 % lengths.count], seed: UInt64($0 + 1))
        }
        for (index, body) in bodies.enumerated() { origin.route("/\(index)", .init(body: body)) }
        let wrong = Set([3, 44, 45, 88, 119])
        let results = await withTaskGroup(of: (Int, TransferResult).self) { group in
            for index in bodies.indices {
                var request = fetcher.request(origin.url("/\(index)"), key: "o/\(index)")
                // Some are known beforehand, some of these not as they are.
                if index % 3 == 0 || wrong.contains(index) {
                    request.expected.sha256 = sha256(wrong.contains(index) ? [1] : bodies[index])
                }
                let ready = request
                group.addTask { (index, await fetcher.fetch(ready)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (index, body) in bodies.enumerated() {
            let result = try #require(results[index])
            #expect(result.httpStatus == 200 && result.origin != nil && result.totalSeconds > 0)
            switch result.outcome {
            case .success(let fetched):
                #expect(!wrong.contains(index))
                #expect(fetched.sha256 == sha256(body), "\(index)")
                #expect(fetched.bytes == Int64(body.count))
                #expect(fetched.isVerified == (index % 3 == 0))
                let object = try #require(fetched.object)
                try fetcher.storage.commit([object]).first?.get()
                #expect(try fetcher.directory.read("o/\(index)") == body)
            case .failure(let failure):
                #expect(failure.code == "integrity.digestMismatch" && wrong.contains(index))
            }
        }
        #expect(try fetcher.temporaries().isEmpty)
    }

    @Test("none is lost when the engine ends", arguments: lanes)
    func shutdown(lanes: Int?) async throws {
        let origin = try FaultOrigin()
        origin.route("/a", .init(body: sampleBytes(10_000)))
        for _ in 0..<20 {
            let fetcher = try Fetcher { $0.digestBatch = lanes }
            let requests = (0..<12).map { fetcher.request(origin.url("/a"), key: "o/\($0)") }
            let (ends, end) = AsyncStream.makeStream(of: TransferResult.self)
            fetcher.engine.submit(requests) { _, result in end.yield(result) }
            var iterator = ends.makeAsyncIterator()
            _ = await iterator.next()
            fetcher.engine.shutdown()
            // One has ended; each of the others has by now, fetched or cancelled.
            for _ in 1..<12 {
                let result = try #require(await iterator.next())
                switch result.outcome {
                case .success(let fetched):
                    #expect(fetched.sha256 == sha256(sampleBytes(10_000)))
                    fetched.object?.discard()
                case .failure(let failure): #expect(failure.code == "worker.cancelled")
                }
            }
            #expect(try fetcher.temporaries().isEmpty)
        }
    }
}
