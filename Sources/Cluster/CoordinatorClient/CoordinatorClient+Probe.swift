package import API
package import Model
import Services

/// The result of one probe of a coordinator, for `dray doctor`.
package struct CoordinatorProbe: Sendable {
    /// Its URL, without secrets.
    package var url: String
    /// The reason why it was not reached; nil if it answered.
    package var failure: Failure?
    /// Time of its answer to a health check with a new connection, in seconds.
    package var latencySeconds: Double?
    /// Its clock, from the `Date` of that answer; the value is a whole second.
    package var clock: ClockReading?
    /// The end of its certificate, in seconds since 1970; nil for http.
    package var certificateEnd: Int64?
    /// Its own diagnosis, or why it rejected it; nil if it was not asked.
    package var diagnosis: Result<CoordinatorDiagnosis, Failure>?
    /// The clock of its database, from the diagnosis.
    package var databaseClock: ClockReading?

    package init(url: String) { self.url = url }

    package var isSecure: Bool { url.hasPrefix("https://") }
}

/// A clock that another machine reported, and this machine's own clock around the request. All in
/// seconds since 1970.
package struct ClockReading: Sendable, Hashable {
    package var seconds: Double
    /// Step of that clock: 1 for a whole second, that has begun.
    package var stepSeconds: Double
    package var sent: Double
    package var received: Double

    package init(seconds: Double, stepSeconds: Double = 0, sent: Double, received: Double) {
        self.seconds = seconds
        self.stepSeconds = stepSeconds
        self.sent = sent
        self.received = received
    }

    /// The least difference that explains the reading, positive if the other clock is ahead; 0 if
    /// the clocks may agree.
    package var minSkewSeconds: Double {
        let (low, high) = (seconds - received, seconds + stepSeconds - sent)
        return low > 0 ? low : min(high, 0)
    }
}

extension CoordinatorClient {
    /// Probes each endpoint once, without retries and at the same time. In the order of the
    /// endpoints.
    package func probe() async -> [CoordinatorProbe] {
        await withTaskGroup(of: (Int, CoordinatorProbe).self) { group in
            for (index, endpoint) in endpoints.enumerated() {
                group.addTask { (index, await self.probe(at: endpoint)) }
            }
            var found: [(Int, CoordinatorProbe)] = []
            for await probe in group { found.append(probe) }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func probe(at endpoint: String) async -> CoordinatorProbe {
        var probe = CoordinatorProbe(url: Redaction.shown(endpoint, limit: 2_000))
        do throws(Failure) {
            let (answer, sent, received) = try await ask("/healthz", of: endpoint)
            if let details = answer.details {
                probe.latencySeconds = details.totalSeconds
                probe.certificateEnd = details.certificateEnd
                probe.clock = details.dateSeconds.map {
                    ClockReading(
                        seconds: Double($0), stepSeconds: 1, sent: sent, received: received)
                }
            }
            _ = try accepted(answer, "/healthz", of: endpoint)
        } catch {
            probe.failure = error
            return probe
        }
        do throws(Failure) {
            let path = "/v1/diagnosis"
            let (answer, sent, received) = try await ask(path, of: endpoint)
            let diagnosis: CoordinatorDiagnosis = try Self.decode(
                try accepted(answer, path, of: endpoint), path)
            probe.databaseClock = diagnosis.database.map {
                ClockReading(seconds: $0.now, sent: sent, received: received)
            }
            probe.diagnosis = .success(diagnosis)
        } catch {
            probe.diagnosis = .failure(error)
        }
        return probe
    }

    private func ask(
        _ path: String, of endpoint: String
    ) async throws(Failure) -> (answer: WireAnswer, sent: Double, received: Double) {
        let request = WireRequest(
            url: endpoint + path, body: nil, connectTimeoutSeconds: Self.connectTimeoutSeconds,
            timeoutSeconds: timeoutSeconds, maximumAnswerBytes: 1 << 20)
        do throws(WireFailure) {
            let clock = SystemWallClock()
            let sent = clock.nowSeconds
            let answer = try await loop.perform(request)
            return (answer, sent, clock.nowSeconds)
        } catch {
            throw error.failure
        }
    }
}
