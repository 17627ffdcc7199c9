package import CoordinatorClient
import Embedded
package import Model

/// The coordinators of a cluster and the token for them.
package struct ClusterEndpoint: Sendable {
    var endpoints: String
    var token: AccessToken?
    /// Files for https endpoints.
    var tls = CoordinatorTLS()

    /// Returns the cluster of `DRAY_COORDINATOR`; nil if unset.
    package static func named() throws -> ClusterEndpoint? {
        guard let endpoints = ClientSettings.coordinator else { return nil }
        return ClusterEndpoint(
            endpoints: endpoints, token: try Secrets.token, tls: try ClientSettings.coordinatorTLS()
        )
    }

    /// Returns the running cluster of a state directory: of `dray up`, or of a `dray prefetch` that
    /// has not ended. Uses the state's token unless the environment sets another.
    package static func running(in state: String) throws -> ClusterEndpoint? {
        guard let cluster = StateDirectory.running(in: state) else { return nil }
        var tls = try ClientSettings.coordinatorTLS()
        tls.caFile = tls.caFile ?? cluster.caFile
        return ClusterEndpoint(
            endpoints: cluster.coordinatorURL,
            token: try cluster.runToken ?? Secrets.token ?? cluster.tokenFile.read(), tls: tls)
    }

    /// Returns the default address of `dray up`. An unknown listener there gets no token of this
    /// user's state.
    package static func standard() throws -> ClusterEndpoint {
        ClusterEndpoint(
            endpoints: "http://\(ClientSettings.defaultListen)", token: try Secrets.token)
    }

    /// Returns the cluster for commands that need no private one.
    package static func current() throws -> ClusterEndpoint {
        if let named = try named() { return named }
        // Without a home directory there is no default state.
        guard let state = try? StateDirectory.defaultPath(environment: ClientSettings.environment)
        else { return try standard() }
        return try running(in: state) ?? standard()
    }

    package func client(
        timeoutSeconds: Double = 30, isProbe: Bool = false
    ) throws(Failure) -> CoordinatorClient {
        do throws(Failure) {
            return try CoordinatorClient(
                endpoints: endpoints, token: token, timeoutSeconds: timeoutSeconds, tls: tls,
                trace: CommandTrace.current, isProbe: isProbe)
        } catch {
            let variable = error.code == .inputURL ? "DRAY_COORDINATOR: " : ""
            throw Failure(error.code, variable + error.message)
        }
    }
}
