import Foundation
import LoadModel
import Model
import TestSupport
import Testing

@testable import Client

/// Objects of buckets get URLs that are valid for the whole test, or the test is rejected.
@Suite struct LoadTargetSignerTests {
    private static let keys = [
        "AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "S",
        "AWS_EC2_METADATA_DISABLED": "true",
    ]

    private static func scenario(
        seconds: Double = 30, requests: Int64? = nil, timeoutSeconds: Double = 60
    ) throws -> LoadScenario {
        var scenario = LoadScenario()
        scenario.targets = [
            try LoadTargetURL.object(BucketLocation(object: "s3://edge/a?endpoint=http://h:1"))
                .target(kind: nil)
        ]
        scenario.stages = [LoadStage(seconds: seconds, from: 4, to: 4)]
        scenario.caps.requests = requests
        scenario.http.timeoutSeconds = timeoutSeconds
        return scenario
    }

    private static func signed(
        _ scenario: LoadScenario, _ mode: LoadTestSession.Mode = .once, waitSeconds: Double = 0,
        environment: [String: String] = keys, now: Int64 = 0
    ) async throws(Failure) -> LoadScenario {
        try await LoadTargetSigner(environment: environment, now: { now })
            .signed(scenario, mode, waitSeconds: waitSeconds)
    }

    private static func url(_ scenario: LoadScenario) -> String? {
        guard case .object(_, let url) = scenario.targets[0].source else { return nil }
        return url
    }

    private static func seconds(_ scenario: LoadScenario) throws -> Int? {
        let text = try #require(url(scenario)).firstMatch(of: /X-Amz-Expires=([0-9]+)/)?.1
        return text.flatMap { Int($0) }
    }

    /// A minute of preparation and a quarter of an hour to spare are added.
    @Test func theURLLastsAsLongAsTheTest() async throws {
        let once = try await Self.signed(try Self.scenario(), waitSeconds: 10)
        #expect(try Self.seconds(once) == 60 + 30 + 10 + 900)
        #expect(try #require(Self.url(once)).hasPrefix("http://h:1/edge/a?X-Amz-Algorithm="))
        #expect(once.durationSeconds == 30)
        let scale = try await Self.signed(try Self.scenario(), .scale([1, 2]), waitSeconds: 5)
        #expect(try Self.seconds(scale) == 60 + 2 * (30 + 5 + 60) + 900)
        let search = try await Self.signed(
            try Self.scenario(), .search(stepSeconds: 10, most: 100, seconds: 40))
        #expect(try Self.seconds(search) == 60 + 4 * (10 + 60 + 17) + 900)
        let week = try await Self.signed(try Self.scenario(seconds: 604_740))
        #expect(try Self.seconds(week) == 604_800)
    }

    @Test func aTestWithoutObjectsNeedsNoCredentials() async throws {
        var scenario = try Self.scenario()
        scenario.targets = [LoadTarget(name: "a", source: .url("http://h/a", .file))]
        let none = ["AWS_EC2_METADATA_DISABLED": "true"]
        #expect(try await Self.signed(scenario, environment: none) == scenario)
        let failure = await #expect(throws: Failure.self) {
            try await Self.signed(try Self.scenario(), environment: none)
        }
        #expect(failure?.code == .storageCredentials)
    }

    @Test func aTestLongerThanSignaturesIsRejected() async throws {
        let failure = await #expect(throws: Failure.self) {
            try await Self.signed(try Self.scenario(seconds: 604_741))
        }
        #expect(failure?.code == .inputTarget)
        #expect(
            failure?.message
                == "the test may last 7 d 00 h with its preparation, but URLs of objects can be "
                + "signed for 7 d 00 h")
    }

    /// Its load ends with the signatures at the latest.
    @Test func aTestThatRequestsEndIsBounded() async throws {
        let scenario = try Self.scenario(seconds: 604_800, requests: 100)
        let bounded = try await Self.signed(scenario, waitSeconds: 40)
        #expect(bounded.durationSeconds == 604_800 - 60 - 40)
        let steps = try await Self.signed(scenario, .scale([1, 2]))
        #expect(steps.durationSeconds == (604_800 - 60) / 2 - 60)
        #expect(try Self.seconds(bounded) == 604_800)
    }

    /// The command signs, not a worker.
    @Test func missingCredentialsAreThoseOfThisCommand() async throws {
        let failure = await #expect(throws: Failure.self) {
            try await Self.signed(
                try Self.scenario(),
                environment: [
                    "AWS_EC2_METADATA_DISABLED": "true",
                    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent/credentials",
                ])
        }
        #expect(failure?.code == .storageCredentials)
        #expect(
            failure?.hint.contains("for this command") == true, "\(String(describing: failure))")
        #expect(failure?.hint.contains("worker") == false)
    }

    @Test func aTestLongerThanItsCredentialsIsRejected() async throws {
        let service = try FaultOrigin()
        let path = "/latest/meta-data/iam/security-credentials/"
        service.route("/latest/api/token", FaultOrigin.Response(200, text: "TOKEN"))
        service.route(path, FaultOrigin.Response(200, text: "edge-role"))
        service.route(
            path + "edge-role",
            FaultOrigin.Response(
                200,
                text: """
                    {"AccessKeyId": "A", "SecretAccessKey": "S", "Token": "TOK/EN",
                     "Expiration": "1970-01-01T01:00:00Z"}
                    """))
        let environment = ["AWS_EC2_METADATA_SERVICE_ENDPOINT": service.url()]
        let signed = try await Self.signed(
            try Self.scenario(seconds: 540), environment: environment, now: 3_000)
        #expect(try #require(Self.url(signed)).contains("&X-Amz-Security-Token=TOK%2FEN&"))
        let failure = await #expect(throws: Failure.self) {
            try await Self.signed(
                try Self.scenario(seconds: 541), environment: environment, now: 3_000)
        }
        #expect(failure?.code == .inputTarget)
        #expect(
            failure?.message.hasSuffix(
                "credentials for its targets in buckets expire in 10 min 00 s") == true)
    }
}
