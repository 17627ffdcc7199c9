import Digest
import Model
import S3
import TestSupport
import Testing

@testable import Storage

/// Answers that a server gives when it is busy, broken or lost in the network.
@Suite struct BucketFaultTests {
    typealias Response = FaultOrigin.Response

    private static func error(_ status: Int, _ code: String) -> Response {
        Response(status, text: "<?xml version=\"1.0\"?><Error><Code>\(code)</Code></Error>")
    }

    private static let stored = Response(200, headers: [("ETag", "\"e\"")])

    private static func code(
        _ responses: [Response], _ bytes: [UInt8] = [1, 2, 3]
    ) async throws -> (code: FailureCode?, requests: Int) {
        let origin = try FaultOrigin()
        origin.route("/edge/p/a", inTurn: responses)
        let bucket = try BucketTests.Bucket("s3://edge/p?endpoint=http://127.0.0.1:\(origin.port)")
        do {
            try await bucket.store("a", bytes)
            return (nil, origin.count("/edge/p/a"))
        } catch {
            return ((error as? Failure)?.code, origin.count("/edge/p/a"))
        }
    }

    @Test func busyServersAreAskedAgain() async throws {
        let (code, requests) = try await Self.code([
            Self.error(503, "SlowDown"), Self.error(500, "InternalError"), Self.stored,
        ])
        #expect(code == nil)
        #expect(requests == 3)
    }

    @Test(arguments: [
        (403, "AccessDenied", "storage.accessDenied"),
        (403, "SignatureDoesNotMatch", "storage.credentials"),
        (403, "InvalidAccessKeyId", "storage.credentials"),
        (400, "ExpiredToken", "storage.credentials"),
        (403, "RequestTimeTooSkewed", "storage.clockSkew"),
        (404, "NoSuchBucket", "storage.noBucket"),
        (301, "PermanentRedirect", "storage.otherRegion"),
        (400, "AuthorizationHeaderMalformed", "storage.otherRegion"),
        (400, "EntityTooLarge", "storage.refused"),
        (501, "NotImplemented", "storage.refused"),
        (200, "AccessDenied", "storage.accessDenied"),
    ])
    func rejectionsHaveTheirCodes(status: Int, code: String, expected: String) async throws {
        let found = try await Self.code([Self.error(status, code)])
        #expect(found.code?.rawValue == expected)
        // Credentials are read once more, and a server may know no conditions.
        #expect(found.requests == (expected == "storage.credentials" || status == 501 ? 2 : 1))
    }

    /// A proxy or a console answers anything with 200: nothing is stored.
    @Test(arguments: [
        Response(200, headers: [("Content-Type", "text/html")], text: "<!doctype html><p>Log in"),
        Response(200), Response(200, headers: [("ETag", "\"e\"")], text: "<html><br></html>"),
    ])
    func answersOfOtherServersAreNoObjects(_ response: Response) async throws {
        #expect(try await Self.code([response]).code == .storageNotS3)
    }

    @Test func replacedCredentialsAreReadAgain() async throws {
        let (code, requests) = try await Self.code([Self.error(400, "ExpiredToken"), Self.stored])
        #expect(code == nil)
        #expect(requests == 2)
    }

    @Test func serversWithoutConditionsStoreObjects() async throws {
        let (code, requests) = try await Self.code([
            Self.error(501, "NotImplemented"), Self.stored,
        ])
        #expect(code == nil)
        #expect(requests == 2)
    }

    /// Of the site's URL, for whole objects and for uploads in parts; and the checksum of a body.
    @Test func settingsOfTheSiteAreSent() async throws {
        let origin = try FaultOrigin()
        origin.route("/edge/p/a", Self.stored)
        origin.route(
            "/edge/p/b",
            Response(
                200,
                text: "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                    + "</InitiateMultipartUploadResult>"))
        let bucket = try BucketTests.Bucket(
            "s3://edge/p?endpoint=http://127.0.0.1:\(origin.port)&encryption=aws:kms&kms-key=k/1"
                + "&storage-class=STANDARD_IA")
        try await bucket.store("a", [1, 2, 3])
        _ = try await bucket.storage.client.beginUpload("p/b", sha256: nil)
        for (path, method) in [("/edge/p/a", "PUT"), ("/edge/p/b", "POST")] {
            let requests = origin.requests(for: path).filter { $0.method == method }
            let headers = try #require(requests.first).headers
            #expect(headers["x-amz-server-side-encryption"] == "aws:kms")
            #expect(headers["x-amz-server-side-encryption-aws-kms-key-id"] == "k/1")
            #expect(headers["x-amz-storage-class"] == "STANDARD_IA")
        }
        let put = try #require(origin.requests(for: "/edge/p/a").last { $0.method == "PUT" })
        #expect(
            put.headers["x-amz-checksum-sha256"] == "A5BYxvLAy0ksUzsKTRTvd8wPeKvMztUofYShogEc+4E=")
        #expect(
            put.headers["x-amz-content-sha256"]
                == SHA256Digest(hashing: [1, 2, 3]).description)
    }

    /// One locked object does not keep the others, nor does it close the site.
    @Test func eachDeletionHasItsResult() async throws {
        let origin = try FaultOrigin()
        origin.route(
            "/edge",
            Response(
                200,
                text: "<DeleteResult><Error><Key>p/b</Key><Code>AccessDenied</Code></Error>"
                    + "</DeleteResult>"))
        let bucket = try BucketTests.Bucket("s3://edge/p?endpoint=http://127.0.0.1:\(origin.port)")
        let deletions = try await bucket.storage.delete(keys: ["a", "b", "c"])
        #expect(deletions[0] == .deleted && deletions[2] == .deleted)
        guard case .failed(let failure) = deletions[1] else {
            Issue.record("b was deleted")
            return
        }
        #expect(failure.code == .storageAccessDenied)
    }

    /// The first request was carried out, but its answer was lost: the object is there.
    @Test func aLostAnswerIsNoFailure() async throws {
        let digest = SHA256Digest(hashing: [1, 2, 3]).description
        let head = Response(
            200, headers: [("x-amz-meta-dray-sha256", digest), ("ETag", "\"1\"")],
            body: [1, 2, 3])
        let (code, _) = try await Self.code([
            Self.error(500, "InternalError"), Self.error(412, "PreconditionFailed"), head,
        ])
        #expect(code == nil)
    }
}
