internal import Glibc
package import Model
package import Services

/// Sends signed requests to one bucket, and repeats them while the server is briefly unavailable.
///
/// Safe from any thread. A repeated PUT stores the same object again; a repeated end of an upload is
/// checked by `complete`.
package final class S3Client: Sendable {
    package let bucket: BucketLocation
    private let provider: CredentialProvider
    private let loop: UploadLoop
    private let now: @Sendable () -> Int64
    private let urls: BucketURLs
    private let delays: RetryDelays

    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - delays: between the tries of a request.
    package init(
        _ bucket: BucketLocation, provider: CredentialProvider, loop: UploadLoop,
        now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) },
        delays: RetryDelays = RetryDelays(S3Client.backoff)
    ) {
        self.bucket = bucket
        self.provider = provider
        self.loop = loop
        self.now = now
        urls = BucketURLs(bucket)
        self.delays = delays
    }

    /// The delays between the tries of a request. A server that is briefly unavailable gets at least
    /// half of each.
    package static let backoff = Backoff(
        firstSeconds: 0.1, maxSeconds: .infinity, factor: 3, jitter: 0.5...1)

    /// Returns the first answer that is one; throws the failure of the last try.
    package func send(_ request: S3Request) async throws(Failure) -> HTTPAnswer {
        var hasNewCredentials = false
        for attempt in 1... {
            let last: Failure
            do throws(Failure) {
                let credentials = try await provider.credentials()
                let answer = try await send(request, credentials)
                let isOk = (200..<300).contains(answer.status)
                // An error may follow a status that was sent early.
                let document = answer.body.isEmpty ? nil : AnswerDocument(answer.body)
                if isOk, document?.root.name != "Error" {
                    try requireDocument(document, answer, request)
                    return answer
                }
                let ended = AnswerFailure(answer, document, at: target(of: request))
                if ended.failure.code == .storageCredentials || answer.status == 403 {
                    provider.drop(credentials)
                    // Those of a file or a role may have been replaced.
                    if ended.failure.code == .storageCredentials, !hasNewCredentials {
                        hasNewCredentials = true
                        continue
                    }
                }
                let isAccepted =
                    request.accepted.contains(answer.status)
                    || request.acceptedCodes.contains(ended.code)
                if isAccepted, ended.failure.code != .storageNoBucket { return answer }
                guard ended.isTransient, attempt < request.maximumTries else { throw ended.failure }
                last = ended.failure
            } catch {
                let isTransient = [
                    .storageUnavailable, .storageSlowDown, .storageBadDigest,
                ].contains(error.code)
                guard isTransient, attempt < request.maximumTries else { throw error }
                last = error
            }
            guard request.isWanted(), !Task.isCancelled else { throw last }
            try? await Task.sleep(for: .seconds(delays.seconds(attempt: attempt)))
        }
        preconditionFailure("the loop ends by its last try")
    }

    /// Throws `storage.notS3` for the answer of a proxy or a console: a body that is no document, to
    /// anything but a read.
    private func requireDocument(
        _ document: AnswerDocument?, _ answer: HTTPAnswer, _ request: S3Request
    ) throws(Failure) {
        guard request.method != "GET", !answer.body.isEmpty, document == nil else { return }
        let type = Redaction.shown(answer.headers["content-type"] ?? "no type", limit: 60)
        throw Failure(
            .storageNotS3,
            "\(target(of: request)): \(answer.status) (\(type)), not an S3 answer")
    }

    private func target(of request: S3Request) -> String {
        let key = request.key.isEmpty ? "" : "/\(Redaction.path(request.key))"
        return "\(request.method) s3://\(bucket.bucket)\(key) at \(bucket.endpointURL)"
    }

    private func send(
        _ request: S3Request, _ credentials: Credentials
    ) async throws(Failure) -> HTTPAnswer {
        var call = HTTPCall(method: request.method, url: "", headers: [], body: request.body)
        let path = urls.path(ofKey: request.key)
        let time = SigningTime.text(now())
        var headers = request.headers
        headers.append(("host", urls.host))
        headers.append(("x-amz-content-sha256", request.bodyHash))
        headers.append(("x-amz-date", time))
        if let token = credentials.sessionToken {
            headers.append(("x-amz-security-token", token))
        }
        let authorization = RequestSignature(credentials: credentials, region: bucket.region)
            .authorization(
                method: request.method, path: path, query: request.query, headers: headers,
                bodyHash: request.bodyHash, time: time)
        call.headers = headers.map { "\($0.name): \($0.value)" }
        call.headers.append("Authorization: \(authorization)")
        if request.body != nil, !headers.contains(where: { $0.name == "content-type" }) {
            call.headers.append("Content-Type: application/octet-stream")
        }
        let query = RequestSignature.text(of: request.query)
        call.url = urls.base + path + (query.isEmpty ? "" : "?\(query)")
        call.timeoutSeconds = 60 + Double(request.body?.count ?? 0) / Double(32 << 10)
        call.timeoutSeconds += Double(request.copiedBytes) / Double(8 << 20)
        if request.sink != nil { call.timeoutSeconds = 3_600 }
        call.sink = request.sink
        call.admits = request.admits
        call.isWanted = request.isWanted
        return try await loop.perform(call)
    }

    /// Returns the difference between this process's clock and the server's, in seconds.
    package func clockSkew() async throws(Failure) -> Int64? {
        let answer = try await loop.perform(
            HTTPCall(method: "GET", url: urls.base + "/", headers: [], body: nil))
        return answer.dateSeconds.map { now() - $0 }
    }
}
