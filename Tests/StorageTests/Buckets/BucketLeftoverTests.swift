import Digest
import Foundation
import Model
import S3
import Synchronization
import TestSupport
import Testing

@testable import Storage

extension UploadRecord {
    /// The number of an upload that has begun.
    var uploadID: String {
        if case .begun(let id) = state { id } else { "" }
    }
}

/// What killed workers and other programs leave in a bucket.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketLeftoverTests {
    typealias Bucket = BucketTests.Bucket

    // MARK: Uploads without their number

    /// What there is if a worker is killed between the beginning of an upload and its record, with
    /// an upload of another program that began before, and one after it.
    private static func beginUnnamed(
        _ key: String, in bucket: Bucket
    ) async throws -> (own: String, foreign: Set<String>) {
        let (storage, client) = (bucket.storage, bucket.storage.client)
        let name = storage.key(try ObjectKey(key))
        let before = try await client.beginUpload(name, sha256: nil)
        let record = UploadRecord(
            .beginning(others: [RequestSignature.encoded(before)]), key: name,
            bytes: Int64(BucketTests.large.count), partBytes: S3Storage.partBytes,
            owner: .attempt(BucketTests.attempt))
        try await storage.putRecord(storage.recordKey(of: name), record.content) { true }
        let own = try await client.beginUpload(name, sha256: nil)
        let after = try await client.beginUpload(name, sha256: nil)
        _ = try await client.putPart(
            name, upload: after, number: 1, UploadBody([1]),
            sha256: SHA256Digest(hashing: [1]).description, isWanted: { true })
        let elsewhere = try await client.beginUpload(name + "2", sha256: nil)
        return (own, [before, after, elsewhere])
    }

    private static func uploads(below key: String, in bucket: Bucket) async throws -> Set<String> {
        let name = bucket.storage.key(try ObjectKey(key))
        return Set(try await bucket.storage.client.uploads(prefix: name).map(\.id))
    }

    @Test(arguments: S3Server.installed)
    func aSweepAbortsAnUploadWithoutItsNumber(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("unnamed"))
        let (own, foreign) = try await Self.beginUnnamed("big", in: bucket)
        #expect(try await Self.uploads(below: "big", in: bucket) == foreign.union([own]))
        #expect(try await bucket.storage.sweepBucket(olderThanSeconds: 1, now: 0) == 0)
        #expect(try await Self.uploads(below: "big", in: bucket) == foreign.union([own]))
        let later: Int64 = 4_000_000_000
        #expect(try await bucket.storage.sweepBucket(olderThanSeconds: 1, now: later) == 1)
        #expect(try await Self.uploads(below: "big", in: bucket) == foreign)
        #expect(try await bucket.privateKeys().isEmpty)
    }

    @Test(arguments: S3Server.installed)
    func theNextAttemptAbortsAnUploadWithoutItsNumber(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("unnamed-next"))
        let (_, foreign) = try await Self.beginUnnamed("big", in: bucket)
        try await bucket.store("big", BucketTests.large)
        #expect(await bucket.has("big", BucketTests.large))
        #expect(try await Self.uploads(below: "big", in: bucket) == foreign)
    }

    /// The server has begun an upload, but its answer is lost.
    @Test func anUploadWhoseAnswerWasLostIsAborted() async throws {
        let origin = try FaultOrigin()
        let bucket = try Bucket("s3://edge/p?endpoint=http://127.0.0.1:\(origin.port)")
        let (storage, key) = (bucket.storage, "p/big")
        let present = Mutex<[String]>(["foreign"])
        origin.route("/edge") { _ in
            let items = present.withLock { $0 }.map {
                "<Upload><Key>\(key)</Key><UploadId>\($0)</UploadId></Upload>"
            }
            return FaultOrigin.Response(
                200,
                text: "<ListMultipartUploadsResult>\(items.joined())</ListMultipartUploadsResult>")
        }
        origin.route("/edge/\(key)") { request in
            switch request.method {
            case "POST":
                let id = "own\(request.number)"
                present.withLock { $0.append(id) }
                guard request.number > 1 else { return FaultOrigin.Response(500, text: "") }
                return FaultOrigin.Response(
                    200, text: "<Result><UploadId>\(id)</UploadId></Result>")
            case "DELETE":
                present.withLock { $0.removeAll { request.target.hasSuffix("uploadId=\($0)") } }
                return FaultOrigin.Response(204)
            default: return FaultOrigin.Response(200, text: "<ListPartsResult/>")
            }
        }
        origin.route(
            "/edge/\(storage.recordKey(of: key))",
            FaultOrigin.Response(200, headers: [("ETag", "\"e\"")]))
        let record = UploadRecord(
            .beginning(others: []), key: key, bytes: 9, partBytes: 9,
            owner: .attempt(BucketTests.attempt))
        let id = try await storage.begin(
            record, at: storage.recordKey(of: key), sha256: nil, isOurs: { true })
        #expect(id == "own2")
        #expect(present.withLock { $0 } == ["foreign", "own2"])
    }

    // MARK: Uploads of removed assets

    /// A removal aborts the uploads of its cluster's assets, and counts the bytes of their parts.
    @Test(arguments: S3Server.installed)
    func anInterruptedUploadOfTheClusterIsAborted(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("interrupted"))
        let (storage, client) = (bucket.storage, bucket.storage.client)
        let own: ClusterID = "own"
        for (key, cluster) in [("big", own), ("other", "other")] {
            let name = storage.key(try ObjectKey(key))
            var attempt = BucketTests.attempt
            attempt.cluster = cluster
            let record = UploadRecord(
                .beginning(others: []), key: name, bytes: 9, partBytes: S3Storage.partBytes,
                owner: .attempt(attempt))
            let upload = try await storage.begin(
                record, at: storage.recordKey(of: name), sha256: nil, isOurs: { true })
            _ = try await client.putPart(
                name, upload: upload, number: 1, UploadBody([1, 2, 3]),
                sha256: SHA256Digest(hashing: [1, 2, 3]).description, isWanted: { true })
        }
        // Requests for a thread that may block.
        let removed = await withCheckedContinuation { done in
            Thread.detachNewThread {
                done.resume(
                    returning: Result {
                        let site = SiteStorage.bucket(storage)
                        return try site.interruptedBodies(of: own).map { body in
                            (body.asset, body.bytes, body.isStored, site.remove(body))
                        }
                    })
            }
        }
        let bodies = try removed.get()
        #expect(bodies.count == 1 && bodies.allSatisfy { $0 == (AssetID(1), 3, true, true) })
        #expect(try await Self.uploads(below: "big", in: bucket).isEmpty)
        #expect(try await Self.uploads(below: "other", in: bucket).count == 1)
        let left = storage.recordKey(of: storage.key(try ObjectKey("other")))
        #expect(try await bucket.privateKeys() == [left])
    }

    /// A copy in parts is an upload as well.
    @Test(arguments: S3Server.installed)
    func aCopyInPartsLeavesNothing(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("copy"))
        let (storage, body) = (bucket.storage, BucketTests.large)
        try await bucket.store("from", body)
        let (source, target) = (
            storage.key(try ObjectKey("from")), storage.key(try ObjectKey("to"))
        )
        let owner = UploadRecord.Owner.lease(
            BucketTests.lease, BodyOwner(asset: AssetID(0)))
        let left = UploadRecord(
            .beginning(others: []), key: target, bytes: 9, partBytes: 9, owner: owner)
        try await storage.putRecord(storage.recordKey(of: target), left.content) { true }
        _ = try await storage.client.beginUpload(target, sha256: nil)
        let digest = BucketTests.stored(body).sha256
        #expect(
            try await storage.copy(
                source, to: target, bytes: Int64(body.count), sha256: digest, by: owner,
                largest: 1, partBytes: S3Storage.partBytes, isOurs: { true }))
        #expect(try await storage.hash(target, [])?.sha256 == digest)
        #expect(try await storage.head(target)?.sha256 == digest)
        #expect(try await Self.uploads(below: "to", in: bucket).isEmpty)
        #expect(
            try await !storage.copy(
                source + "-none", to: target, bytes: Int64(body.count), sha256: nil, by: owner,
                largest: 1, partBytes: S3Storage.partBytes, isOurs: { true }))
        #expect(try await Self.uploads(below: "to", in: bucket).isEmpty)
        #expect(try await bucket.privateKeys() == [storage.digestKey(of: source)])
    }

    // MARK: Records of digests

    @Test(arguments: S3Server.installed)
    func digestsOfObjectsOfOthersAreLeftovers(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("digest-records"))
        let (storage, client) = (bucket.storage, bucket.storage.client)
        for key in ["kept", "deleted", "replaced"] {
            try await bucket.store(key, BucketTests.large)
        }
        // By another program.
        try await client.delete([storage.key(try ObjectKey("deleted"))])
        var other = BucketTests.large
        other[7] ^= 1
        _ = try await client.put(
            storage.key(try ObjectKey("replaced")), UploadBody(other),
            sha256: SHA256Digest(hashing: other).description)
        try await storage.putRecord(storage.privateKey("digests/none"), [1]) { true }

        func names(_ keys: [String]) throws -> Set<String> {
            let start = storage.privateKey("digests/").count
            return Set(
                try keys.map {
                    String(storage.digestKey(of: storage.key(try ObjectKey($0))).dropFirst(start))
                })
        }
        for first in ["0", "7", "f", "zz"] {
            let found = try await storage.staleDigests(after: first)
            #expect(
                Set(found.filter { $0.kind == .digest }.map(\.name))
                    == (try names(["deleted", "replaced"])))
            #expect(found.filter { $0.kind != .digest }.map(\.kind) == [.foreign])
            #expect(found.count == 3)
        }
        #expect(try await storage.staleDigests(most: 0).isEmpty)
        for file in try await storage.staleDigests() where file.kind == .digest {
            #expect(try await storage.remove(leftover: file))
            #expect(try await !storage.remove(leftover: file))
        }
        #expect(try await storage.staleDigests().map(\.kind) == [.foreign])
        #expect(
            try await storage.head(storage.key(try ObjectKey("kept")))?.sha256
                == BucketTests.stored(BucketTests.large).sha256)
        // What says the truth by now stays.
        let kept = try #require(try names(["kept"]).first)
        #expect(
            try await !storage.remove(
                leftover: PrivateFile(.digests, kept, bytes: 0, .digest, ageSeconds: 0)))
    }
}
