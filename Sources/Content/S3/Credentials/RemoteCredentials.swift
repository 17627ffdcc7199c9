internal import Foundation
import Model

/// Temporary credentials from AWS's token service and from an instance's metadata service.
struct RemoteCredentials {
    let environment: [String: String]
    let loop: UploadLoop

    // MARK: Web identity

    /// Exchanges the token of a web identity (AssumeRoleWithWebIdentity of STS); nil without one.
    func ofWebIdentity() async throws(Failure) -> Credentials? {
        guard let file = environment.value("AWS_WEB_IDENTITY_TOKEN_FILE"),
            let role = environment.value("AWS_ROLE_ARN")
        else { return nil }
        guard let token = Self.token(in: file) else {
            throw Failure(
                .storageCredentials, "the web identity's token file \(file) cannot be read")
        }
        let region = environment.value("AWS_REGION") ?? environment.value("AWS_DEFAULT_REGION")
        let endpoint =
            environment.value("AWS_ENDPOINT_URL_STS")
            ?? "https://sts.\(region ?? "us-east-1").amazonaws.com"
        let session = environment.value("AWS_ROLE_SESSION_NAME") ?? "dray"
        let form = RequestSignature.text(of: [
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"),
            ("RoleArn", role), ("RoleSessionName", session), ("WebIdentityToken", token),
        ])
        var call = HTTPCall(
            method: "POST", url: "\(endpoint)/",
            headers: ["Content-Type: application/x-www-form-urlencoded"],
            body: UploadBody(Array(form.utf8)))
        call.maximumAnswerBytes = 1 << 20
        let answer = try await ask(call, "the token service \(endpoint)")
        let document = AnswerDocument(answer.body)?.root
        guard answer.status == 200,
            let result = document?.all("AssumeRoleWithWebIdentityResult").first,
            let given = result.all("Credentials").first,
            let key = given["AccessKeyId"], let secret = given["SecretAccessKey"]
        else {
            let reason = document?.all("Error").first
            throw Failure(
                .storageCredentials,
                "the token service \(endpoint) answered \(answer.status) "
                    + "\(reason?["Code"] ?? "") for the role \(role)")
        }
        return Credentials(
            accessKey: key, secretKey: secret, sessionToken: given["SessionToken"],
            expiresAt: given["Expiration"].flatMap(SigningTime.seconds))
    }

    private static func token(in path: String) -> String? {
        guard let file = FileHandle(forReadingAtPath: path),
            let data = try? file.read(upToCount: 64 << 10)
        else { return nil }
        let text = String(decoding: data, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }

    // MARK: Instance role

    /// The fields of an answer of the metadata service.
    private struct Given: Decodable {
        var accessKey: String
        var secretKey: String
        var token: String?
        var expiration: String?

        private enum CodingKeys: String, CodingKey {
            case accessKey = "AccessKeyId"
            case secretKey = "SecretAccessKey"
            case token = "Token"
            case expiration = "Expiration"
        }
    }

    /// Asks the instance's metadata service, version 2; nil if there is none, or no role.
    func ofInstance() async throws(Failure) -> Credentials? {
        guard environment.value("AWS_EC2_METADATA_DISABLED")?.lowercased() != "true" else {
            return nil
        }
        let service =
            environment.value("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? "http://169.254.169.254"
        var call = HTTPCall(
            method: "PUT", url: "\(service)/latest/api/token",
            headers: ["X-aws-ec2-metadata-token-ttl-seconds: 21600"], body: UploadBody([]))
        call.connectTimeoutSeconds = 1
        call.timeoutSeconds = 5
        call.maximumAnswerBytes = 64 << 10
        guard let token = try? await loop.perform(call), token.status == 200 else { return nil }
        let text = String(decoding: token.body, as: UTF8.self)
        let roles = "\(service)/latest/meta-data/iam/security-credentials/"
        (call.method, call.body) = ("GET", nil)
        call.headers = ["X-aws-ec2-metadata-token: \(text)"]
        call.url = roles
        let names = try await ask(call, "the metadata service \(service)")
        let name = String(decoding: names.body, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard names.status == 200, let role = name.first else { return nil }
        call.url = roles + RequestSignature.encoded(String(role))
        let answer = try await ask(call, "the metadata service \(service)")
        guard answer.status == 200,
            let given = try? JSONDecoder().decode(Given.self, from: Data(answer.body))
        else {
            throw Failure(
                .storageCredentials,
                "the metadata service \(service) has no credentials of the role \(role)")
        }
        return Credentials(
            accessKey: given.accessKey, secretKey: given.secretKey,
            sessionToken: given.token, expiresAt: given.expiration.flatMap(SigningTime.seconds))
    }

    private func ask(_ call: HTTPCall, _ whom: String) async throws(Failure) -> HTTPAnswer {
        do throws(Failure) {
            return try await loop.perform(call)
        } catch {
            throw Failure(.storageCredentials, "\(whom) does not answer: \(error.message)")
        }
    }
}
