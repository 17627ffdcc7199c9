import API
import CoordinatorClient
import Glibc
import HTTPServer
import Model
import TestSupport
import Testing

/// A token goes to no process of another user that listens where a coordinator was expected.
@Suite(.timeLimit(.minutes(1))) struct PeerCheckTests {
    private func client(
        _ urls: String, tokenOwner: UInt32? = nil, users: CoordinatorUsers = .these([])
    ) throws -> CoordinatorClient {
        var token = AccessToken.test
        token.owner = tokenOwner
        token.coordinatorUsers = users
        return try CoordinatorClient(endpoints: urls, token: token, retrySeconds: 0)
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can start a process of another user"),
        arguments: [true, false])
    func aListenerOfAnotherUserReceivesNothing(accepts: Bool) async throws {
        let stranger = try await StrangersListener(accepts: accepts)
        let client = try client(stranger.url)
        defer { client.shutdown() }
        let refused = await failure { _ = try await client.clusterStatus() }
        #expect(refused?.code == "cluster.foreignCoordinator")
        let message = refused?.message ?? ""
        #expect(message.contains(stranger.url) && message.contains("the user nobody, not of root"))
        // On no connection, new or used before.
        for _ in 0..<3 { _ = await failure { try await client.readiness() } }
        try await stranger.end()
        #expect(!stranger.received.contains("HTTP"), "\(stranger.received)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can start a process of another user"))
    func theOwnerOfTheTokensFileMayServe() async throws {
        let service = try await StrangersListener()
        let client = try client(service.url, tokenOwner: StrangersListener.user)
        defer { client.shutdown() }
        try await client.readiness()
        try await service.end()
        #expect(service.received.contains("Bearer \(AccessToken.test.text)"))
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can start a process of another user"),
        arguments: [CoordinatorUsers.these([StrangersListener.user]), .anyone])
    func whoTheOperatorNamesMayServe(users: CoordinatorUsers) async throws {
        let service = try await StrangersListener()
        let client = try client(service.url, users: users)
        defer { client.shutdown() }
        try await client.readiness()
        try await service.end()
        #expect(service.received.contains("Bearer \(AccessToken.test.text)"))
    }

    /// It is not there, as one that takes no connection.
    @Test(.enabled(if: geteuid() == 0, "only root can start a process of another user"))
    func anotherCoordinatorIsUsedInstead() async throws {
        let stranger = try await StrangersListener()
        let coordinator = try TestCoordinator { _ in .text(200, "ok") }
        let client = try client("\(stranger.url),\(coordinator.url)")
        // Also what must not be sent twice.
        let lease = LeaseRequest(worker: "w", queues: [], maxJobs: 1, waitMilliseconds: 0)
        _ = await failure { _ = try await client.lease(lease) }
        #expect(coordinator.log.all.map(\.path) == ["/v1/leases"])
        client.shutdown()
        await coordinator.server.shutdown(graceSeconds: 0)
        try await stranger.end()
        #expect(!stranger.received.contains("HTTP"), "\(stranger.received)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can start a process of another user"))
    func whoTakesThePortOfACoordinatorThatEndedReceivesNothing() async throws {
        let coordinator = try TestCoordinator { _ in .text(200, "ok") }
        let port = Int(coordinator.server.port)
        let client = try client(coordinator.url)
        try await client.readiness()
        await coordinator.server.shutdown(graceSeconds: 0)
        let stranger = try await StrangersListener(port: port)
        let refused = await failure { try await client.readiness() }
        #expect(refused?.code == "cluster.foreignCoordinator")
        client.shutdown()
        try await stranger.end()
        #expect(!stranger.received.contains("HTTP"), "\(stranger.received)")
    }

    /// Sockets of IPv6 take connections of IPv4 as well, and are listed in another table.
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("::", "127.0.0.1"), ("::", "[::1]"),
    ])
    func anOwnCoordinatorIsRecognised(address: String, host: String) async throws {
        let server = try HTTPServer.start(.init(address: address, port: 0)) { _ in .text(200, "ok")
        }
        let client = try client("http://\(host):\(server.port)")
        let result = await Result { () async throws in
            for _ in 0..<20 { try await client.readiness() }
        }
        client.shutdown()
        await server.shutdown(graceSeconds: 0)
        try result.get()
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
