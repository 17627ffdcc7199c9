package import Model

/// Load tests on workers. Every request may be repeated: a second one has the same effect.
extension CoordinatorClient {
    /// Calls workers together for a test. Throws `input.notFound` for a queue that is not there, and
    /// `input.loadTestRunning` while another test of it has not ended.
    package func create(
        _ test: LoadTestSubmission, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestStatus {
        try await post("/v1/load-tests", test, call: Call(retrySeconds: retrySeconds))
    }

    package func loadTests(retrySeconds: Double? = nil) async throws(Failure) -> LoadTestList {
        try await get("/v1/load-tests", call: Call(retrySeconds: retrySeconds))
    }

    /// Throws `input.notFound`.
    package func loadTest(
        _ id: LoadTestID, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestStatus {
        try await get("/v1/load-tests/\(id)", call: Call(retrySeconds: retrySeconds))
    }

    /// What is new of a test, and that it is wanted still. Throws `input.notFound`.
    package func follow(
        _ id: LoadTestID, _ follow: LoadTestFollow, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestNews {
        try await post(
            "/v1/load-tests/\(id)/follow", follow,
            call: Call(
                retrySeconds: retrySeconds, waitSeconds: Double(follow.waitMilliseconds) / 1000))
    }

    /// Has all workers of a test stop. Throws `input.notFound`.
    @discardableResult
    package func stopLoadTest(
        _ id: LoadTestID, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestStatus {
        try await post(
            "/v1/load-tests/\(id)/stop", [String: String](), call: Call(retrySeconds: retrySeconds))
    }

    /// What a share measured of URLs, targets and renditions. Throws `input.notFound`.
    package func loadBreakdown(
        of id: LoadTestID, share: Int, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestBreakdown {
        try await get(
            "/v1/load-tests/\(id)/breakdown?share=\(share)", call: Call(retrySeconds: retrySeconds))
    }

    // MARK: For workers

    /// Takes a part in a test, where there is a place.
    package func join(
        _ id: LoadTestID, _ join: LoadTestJoin, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestPlace {
        try await post("/v1/load-tests/\(id)/shares", join, call: Call(retrySeconds: retrySeconds))
    }

    /// Says how far a share is, and hears what is to be done.
    package func report(
        _ report: LoadTestReport, of id: LoadTestID, retrySeconds: Double? = nil
    ) async throws(Failure) -> LoadTestOrder {
        try await post(
            "/v1/load-tests/\(id)/reports", report,
            call: Call(
                retrySeconds: retrySeconds, waitSeconds: Double(report.waitMilliseconds) / 1000))
    }
}
