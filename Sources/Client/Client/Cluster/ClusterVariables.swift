package import Embedded
import Glibc
import Model

/// Prints the environment with which other processes use a cluster of this machine, for a shell.
package enum ClusterVariables {
    /// - Parameter caFile: the authorities of its certificate.
    package static func exports(
        coordinator: String, caFile: String?, tokenPath: String?
    ) -> String {
        var lines = "export DRAY_COORDINATOR=\(quoted(coordinator))\n"
        if let caFile { lines += "export DRAY_CA_FILE=\(quoted(caFile))\n" }
        if let tokenPath { lines += "export DRAY_TOKEN_FILE=\(quoted(tokenPath))\n" }
        return lines
    }

    /// Returns the text unchanged if that is safe, or else in single quotes.
    private static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20)
                || "/._-:[]".utf8.contains($0)
        }
        return isPlain ? text : "'\(text.replacing("'", with: "'\\''"))'"
    }

    /// Prepares a private cluster. If `dray up` uses its state, the failure explains how to use
    /// that cluster.
    package static func prepare(
        _ configuration: EmbeddedCluster.Configuration
    ) async throws -> EmbeddedCluster {
        do throws(Failure) {
            return try await EmbeddedCluster.prepare(configuration)
        } catch {
            guard error.code == .clusterStateInUse,
                let running = StateDirectory.running(in: configuration.statePath),
                running.runToken == nil
            else { throw error }
            let path = running.tokenFile.path
            throw error.with(
                hint: "`dray up` uses it. To use that cluster, run these lines first:\n"
                    + exports(
                        coordinator: running.coordinatorURL, caFile: running.caFile,
                        tokenPath: access(path, R_OK) == 0 ? path : nil))
        }
    }
}
