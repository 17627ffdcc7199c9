package import Model
import Synchronization

/// Finds the credentials of a process where AWS's own tools do, and keeps them until they expire.
///
/// In this order: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; a web identity
/// (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN); the profile AWS_PROFILE of the shared file
/// (AWS_SHARED_CREDENTIALS_FILE, ~/.aws/credentials); the role of the instance (IMDSv2), unless
/// AWS_EC2_METADATA_DISABLED is true. Safe from any thread.
package final class CredentialProvider: Sendable {
    private enum State {
        case unknown
        case known(Credentials)
        /// `previous` may still be valid.
        case asked(Task<Result<Credentials, Failure>, Never>, previous: Credentials?)
    }

    private let environment: [String: String]
    private let loop: UploadLoop
    private let now: @Sendable () -> Int64
    private let state = Mutex(State.unknown)

    /// Seconds before their end at which credentials are renewed.
    private static let renewalSeconds: Int64 = 300

    package init(
        environment: [String: String], loop: UploadLoop, now: @escaping @Sendable () -> Int64
    ) {
        self.environment = environment
        self.loop = loop
        self.now = now
    }

    /// Returns valid credentials; throws `storage.credentials` if no source has any.
    package func credentials() async throws(Failure) -> Credentials {
        let time = now()
        let task: Task<Result<Credentials, Failure>, Never>? = state.withLock { state in
            switch state {
            case .known(let known)
            where known.expiresAt.map { time < $0 - Self.renewalSeconds } ?? true:
                return nil
            case .asked(let task, _): return task
            case .known(let previous):
                let task = Task { await self.find() }
                state = .asked(task, previous: previous)
                return task
            case .unknown:
                let task = Task { await self.find() }
                state = .asked(task, previous: nil)
                return task
            }
        }
        guard let task else {
            if case .known(let known) = state.withLock({ $0 }) { return known }
            return try await credentials()
        }
        let result = await task.value
        let valid: Credentials? = state.withLock { state in
            guard case .asked(let asked, let previous) = state, asked == task else { return nil }
            if case .success(let found) = result {
                state = .known(found)
                return found
            }
            // What could not be renewed yet is asked for again with the next request.
            guard let previous, let end = previous.expiresAt, time < end else {
                state = .unknown
                return nil
            }
            state = .known(previous)
            return previous
        }
        if let valid { return valid }
        return try result.get()
    }

    /// Drops credentials that a server has rejected: those of a file may have been replaced.
    package func drop(_ refused: Credentials) {
        state.withLock { if case .known(refused) = $0 { $0 = .unknown } }
    }

    private func find() async -> Result<Credentials, Failure> {
        do throws(Failure) {
            if let found = try fromEnvironment() { return .success(found) }
            let remote = RemoteCredentials(environment: environment, loop: loop)
            if let found = try await remote.ofWebIdentity() { return .success(found) }
            if let found = try SharedCredentials(environment: environment).read() {
                return .success(found)
            }
            if let found = try await remote.ofInstance() { return .success(found) }
            return .failure(
                Failure(
                    .storageCredentials,
                    "no credentials: AWS_ACCESS_KEY_ID is not set, there is no web identity, no "
                        + "shared file and no instance role"))
        } catch {
            return .failure(error)
        }
    }

    private func fromEnvironment() throws(Failure) -> Credentials? {
        guard let key = environment.value("AWS_ACCESS_KEY_ID") else { return nil }
        guard let secret = environment.value("AWS_SECRET_ACCESS_KEY") else {
            throw Failure(
                .storageCredentials, "AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not")
        }
        return Credentials(
            accessKey: key, secretKey: secret,
            sessionToken: environment.value("AWS_SESSION_TOKEN"))
    }
}

extension [String: String] {
    /// Returns the value of a variable; nil if it is missing or empty.
    func value(_ name: String) -> String? {
        guard let value = self[name], !value.isEmpty else { return nil }
        return value
    }
}
