import Glibc
import Model
import TestSupport
import Testing

/// Who is sent the token at addresses of this machine.
@Suite(.timeLimit(.minutes(2))) struct CoordinatorUserTests {
    /// Connections to a secondary address come from the primary one, so that the ends have different addresses.
    @Test(.enabled(if: geteuid() == 0, "only root can make a network namespace"))
    func aSecondaryAddressIsOfThisMachineToo() async throws {
        let holder = try ChildProcess([
            "unshare", "--net", "sh", "-ec",
            """
            ip link set lo up
            ip address add 10.9.0.1/24 dev lo
            ip address add 10.9.0.2/24 dev lo
            echo ready
            exec sleep 300
            """,
        ])
        defer { holder.signal(SIGKILL) }
        try await waitUntil(deadlineSeconds: 30, "the namespace") {
            guard holder.ending == nil else { throw POSIXFailure(holder.errors) }
            return holder.output.contains("ready")
        }
        let inside = ["nsenter", "--net=/proc/\(holder.pid)/ns/net"]
        let stranger = try await StrangersListener(inside, address: "10.9.0.2")
        for (users, code) in [("", Int32(3)), ("nobody", 0)] {
            let status = try ChildProcess(
                inside + [
                    "env", "DRAY_COORDINATOR=http://10.9.0.2:\(stranger.port)",
                    "DRAY_TOKEN=\(AccessToken.test.text)", "DRAY_COORDINATOR_USER=\(users)",
                    try DrayProcess.binary(), "status",
                ])
            let ending = try await status.wait(deadlineSeconds: 60)
            guard code != 0 else {
                // It is no coordinator, but it was asked.
                #expect(stranger.received.contains(AccessToken.test.text))
                continue
            }
            #expect(ending == .exited(code), "\(status.errors)")
            #expect(status.errors.contains("cluster.foreignCoordinator"), "\(status.errors)")
            #expect(!stranger.received.contains("HTTP"), "\(stranger.received)")
        }
        try await stranger.end()
    }
}
