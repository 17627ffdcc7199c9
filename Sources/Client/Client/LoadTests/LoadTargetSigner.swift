import Glibc
package import LoadModel
package import Model
import Rendering
import S3

/// Signs the targets of a load test that are objects of buckets, once before the test.
///
/// The credentials are those that sites in buckets use. Workers get the signed URLs alone.
package struct LoadTargetSigner: Sendable {
    private let environment: [String: String]
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - environment: Variables of the process, with its credentials.
    ///   - now: Seconds since 1970.
    package init(
        environment: [String: String], now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }
    ) {
        self.environment = environment
        self.now = now
    }

    /// Returns the scenario with signed targets, and with a bounded duration if only requests or bytes
    /// bounded it; without such targets the same scenario, and no credentials are looked for.
    ///
    /// Throws `storage.credentials` without credentials, and `input.target` for a test that may last
    /// longer than they, or than a signed URL.
    ///
    /// - Parameter waitSeconds: Maximum wait for workers before each run.
    package func signed(
        _ scenario: LoadScenario, _ mode: LoadTestSession.Mode, waitSeconds: Double
    ) async throws(Failure) -> LoadScenario {
        let objects = scenario.targets.contains { target in
            if case .object = target.source { true } else { false }
        }
        guard objects else { return scenario }
        let signer = URLSigner(credentials: try await credentials(), now: now())
        var scenario = scenario
        var span = LoadSpan(scenario, mode, waitSeconds: waitSeconds)
        let validSeconds = min(
            signer.credentialSeconds ?? URLSigner.maximumSeconds, URLSigner.maximumSeconds)
        if span.seconds > Double(validSeconds) {
            guard span.isOpen, span.bound(to: Double(validSeconds)) else {
                throw Self.tooLong(span, signer, validSeconds)
            }
            scenario.caps.durationSeconds = span.runSeconds
            try scenario.check()
        }
        let seconds = min(
            Int64(span.seconds.rounded(.up)) + Self.spareSeconds, URLSigner.maximumSeconds)
        for index in scenario.targets.indices {
            guard case .object(let object, _) = scenario.targets[index].source else { continue }
            scenario.targets[index].source = .object(
                object, signedURL: signer.url(ofObject: object, seconds: seconds))
        }
        return scenario
    }

    /// Added to the time of a test, for slow manifests and for clocks that differ.
    private static let spareSeconds: Int64 = 900

    private func credentials() async throws(Failure) -> Credentials {
        let loop = try UploadLoop(caFile: environment["AWS_CA_BUNDLE"])
        defer { loop.shutdown() }
        do throws(Failure) {
            return try await CredentialProvider(environment: environment, loop: loop, now: now)
                .credentials()
        } catch {
            guard error.code == .storageCredentials else { throw error }
            // The row's advice is for workers.
            throw error.with(
                hint: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for this command, or use a "
                    + "profile, a web identity or an instance role.")
        }
    }

    private static func tooLong(
        _ span: LoadSpan, _ signer: URLSigner, _ validSeconds: Int64
    ) -> Failure {
        let isOfCredentials = signer.credentialSeconds.map { $0 <= validSeconds } ?? false
        return Failure(
            .inputTarget,
            "the test may last \(HumanFormat.duration(seconds: span.seconds)) with its preparation, but "
                + (isOfCredentials
                    ? "the credentials for its targets in buckets expire in "
                    : "URLs of objects can be signed for ")
                + HumanFormat.duration(seconds: Double(validSeconds)),
            hint: isOfCredentials
                ? "Set a shorter --duration or --step, or use credentials that expire later."
                : "Set a shorter --duration or --step.")
    }
}

/// The longest time of a test from its signatures to its last request. A value.
struct LoadSpan {
    /// Duration of the load of each run.
    private(set) var runSeconds: Double
    /// Seconds of each run besides: the wait for workers and for the last answers of the one before.
    private let otherSeconds: Double
    private let runs: Int
    /// True if no duration was set, because requests or bytes end each run.
    let isOpen: Bool

    /// Reading manifests, the first requests and the notice about public addresses.
    private static let preparationSeconds = 60.0

    init(_ scenario: LoadScenario, _ mode: LoadTestSession.Mode, waitSeconds: Double) {
        let timeout = scenario.http.timeoutSeconds
        var isStep = false
        switch mode {
        case .once:
            (runSeconds, runs) = (scenario.durationSeconds, 1)
            otherSeconds = waitSeconds
        case .scale(let workers):
            (runSeconds, runs) = (scenario.durationSeconds, workers.count)
            otherSeconds = waitSeconds + timeout
        case .search(let step, _, let seconds):
            isStep = true
            runSeconds = step
            runs = min(LoadSearch.maxSteps, seconds.map { max(Int($0 / step), 1) } ?? .max)
            otherSeconds = waitSeconds + timeout + LoadSearch.busyPauses.reduce(0, +)
        }
        let caps = scenario.caps
        isOpen =
            !isStep && (caps.requests != nil || caps.bytes != nil)
            && scenario.durationSeconds >= LoadLimits.stageSeconds.upperBound
    }

    var seconds: Double { Self.preparationSeconds + Double(runs) * (runSeconds + otherSeconds) }

    /// Shortens the runs so that all take at most `seconds`; returns false if no second is left.
    mutating func bound(to seconds: Double) -> Bool {
        let left = (seconds - Self.preparationSeconds) / Double(runs) - otherSeconds
        guard left >= 1 else { return false }
        runSeconds = left.rounded(.down)
        return true
    }
}
