package import CoordinatorClient
import Embedded
package import Model

/// A cluster to ask: its coordinators and the token for them.
package struct ClusterPlace {
    var endpoints: String
    var token: AccessToken?

    /// The one of `DRAY_COORDINATOR`; nil where that is not set.
    package static func named() throws -> ClusterPlace? {
        guard let endpoints = ClientSettings.coordinator else { return nil }
        return ClusterPlace(endpoints: endpoints, token: try Secrets.token)
    }

    /// The `dray up` that runs in a state directory. It has the state's own token unless the environment
    /// has another.
    package static func running(in state: String) throws -> ClusterPlace? {
        guard let cluster = StateDirectory.running(in: state) else { return nil }
        return ClusterPlace(
            endpoints: cluster.coordinatorURL,
            token: try Secrets.token ?? cluster.tokenFile.read())
    }

    /// What listens where `dray up` does by default. Whoever that is gets no token of this user's state.
    package static func standard() throws -> ClusterPlace {
        ClusterPlace(
            endpoints: "http://\(ClientSettings.defaultListen)", token: try Secrets.token)
    }

    /// The cluster that commands ask which take part in no private one.
    package static func current() throws -> ClusterPlace {
        if let named = try named() { return named }
        // Without a home there is no default state.
        guard let state = try? StateDirectory.defaultPath(environment: ClientSettings.environment)
        else { return try standard() }
        return try running(in: state) ?? standard()
    }

    package func client(timeoutSeconds: Double = 30) throws(Failure) -> CoordinatorClient {
        do throws(Failure) {
            return try CoordinatorClient(
                endpoints: endpoints, token: token, timeoutSeconds: timeoutSeconds)
        } catch {
            let variable = error.code == "input.url" ? "DRAY_COORDINATOR: " : ""
            throw Failure(error.code, variable + error.message)
        }
    }
}
