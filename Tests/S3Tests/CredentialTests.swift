import Model
import Synchronization
import TestSupport
import Testing

@testable import S3

/// Credentials from each source, in their order, and their renewal.
@Suite final class CredentialTests: Sendable {
    private let clock = Atomic<Int64>(1_000)

    private func find(
        _ environment: [String: String], _ body: (CredentialProvider) async throws -> Void
    ) async throws {
        let loop = try UploadLoop()
        var environment = environment
        if environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] == nil {
            environment["AWS_EC2_METADATA_DISABLED"] = "true"
        }
        try await body(
            CredentialProvider(environment: environment, loop: loop) {
                self.clock.load(ordering: .relaxed)
            })
        loop.shutdown()
    }

    private static func code(_ provider: CredentialProvider) async -> FailureCode? {
        do {
            _ = try await provider.credentials()
            return nil
        } catch { return error.code }
    }

    @Test func theEnvironmentComesFirst() async throws {
        let directory = try TemporaryDirectory("aws")
        let file = try directory.write("[default]\naws_access_key_id=F\n", to: "credentials")
        try await find([
            "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S", "AWS_SESSION_TOKEN": "T",
            "AWS_SHARED_CREDENTIALS_FILE": file,
        ]) { provider in
            let found = try await provider.credentials()
            #expect(found == Credentials(accessKey: "A", secretKey: "S", sessionToken: "T"))
        }
        try await find(["AWS_ACCESS_KEY_ID": "A"]) { provider in
            #expect(await Self.code(provider) == .storageCredentials)
        }
        try await find([:]) { #expect(await Self.code($0) == .storageCredentials) }
    }

    @Test func aProfileOfTheSharedFileIsRead() async throws {
        let directory = try TemporaryDirectory("aws")
        let file = try directory.write(
            """
            # comment
            [default]
            aws_access_key_id = A
            aws_secret_access_key=S1
            [other]
            aws_access_key_id=B
            aws_secret_access_key=S/2+=
            aws_session_token=T
            [broken]
            aws_access_key_id=C
            """, to: "credentials")
        func found(_ profile: String?) async throws -> (Credentials?, FailureCode?) {
            var environment = ["AWS_SHARED_CREDENTIALS_FILE": file]
            environment["AWS_PROFILE"] = profile
            var result: (Credentials?, FailureCode?)
            try await find(environment) { provider in
                result = (try? await provider.credentials(), await Self.code(provider))
            }
            return result
        }
        #expect(try await found(nil).0?.secretKey == "S1")
        let other = Credentials(accessKey: "B", secretKey: "S/2+=", sessionToken: "T")
        #expect(try await found("other").0 == other)
        #expect(try await found("broken").1 == .storageCredentials)
        #expect(try await found("none").1 == .storageCredentials)
    }

    @Test func aWebIdentityIsExchanged() async throws {
        let directory = try TemporaryDirectory("aws")
        let token = try directory.write("ey.token\n", to: "token")
        let service = try FaultOrigin()
        func answer(_ key: String) -> FaultOrigin.Response {
            FaultOrigin.Response(
                text: """
                    <AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
                    <AccessKeyId>\(key)</AccessKeyId><SecretAccessKey>S</SecretAccessKey>
                    <SessionToken>T</SessionToken><Expiration>1970-01-01T01:00:00Z</Expiration>
                    </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>
                    """)
        }
        service.route("/", inTurn: [answer("A"), answer("B")])
        try await find([
            "AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
            "AWS_ENDPOINT_URL_STS": service.url(),
        ]) { provider in
            let first = try await provider.credentials()
            #expect(first.accessKey == "A")
            #expect(first.expiresAt == 3_600)
            // Kept until five minutes before their end.
            clock.store(3_299, ordering: .relaxed)
            #expect(try await provider.credentials().accessKey == "A")
            clock.store(3_300, ordering: .relaxed)
            #expect(try await provider.credentials().accessKey == "B")
        }
        service.route("/", FaultOrigin.Response(403, text: "<html>no</html>"))
        try await find([
            "AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
            "AWS_ENDPOINT_URL_STS": service.url(),
        ]) { #expect(await Self.code($0) == .storageCredentials) }
    }

    @Test func anInstanceHasARole() async throws {
        let service = try FaultOrigin()
        let path = "/latest/meta-data/iam/security-credentials/"
        service.route("/latest/api/token") { request in
            FaultOrigin.Response(request.method == "PUT" ? 200 : 405, text: "TOKEN")
        }
        func guarded(_ text: String) -> FaultOrigin.Handler {
            { request in
                let isRight = request.headers["x-aws-ec2-metadata-token"] == "TOKEN"
                return FaultOrigin.Response(isRight ? 200 : 401, text: isRight ? text : "")
            }
        }
        service.route(path, guarded("edge-role\n"))
        service.route(
            path + "edge-role",
            guarded(
                """
                {"Code": "Success", "AccessKeyId": "A", "SecretAccessKey": "S", "Token": "T",
                 "Expiration": "1970-01-01T01:00:00Z"}
                """))
        try await find(["AWS_EC2_METADATA_SERVICE_ENDPOINT": service.url()]) { provider in
            let found = try await provider.credentials()
            #expect(found.accessKey == "A" && found.sessionToken == "T" && found.expiresAt == 3_600)
        }
    }
}
