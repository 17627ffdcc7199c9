internal import Foundation
internal import Glibc

/// A real Prometheus with a real Alertmanager, on loopback ports; stopped with the last reference.
package final class PrometheusServer: Sendable {
    /// An alert as Prometheus shows it.
    package struct Alert: Sendable, Hashable {
        package var name: String
        /// `pending` or `firing`.
        package var state: String
    }

    package let port: Int
    private let directory: TemporaryDirectory
    private let processes: [ChildProcess]

    /// True if both programs are installed.
    package static let isInstalled = ["prometheus", "prometheus-alertmanager"].allSatisfy {
        access("/usr/bin/\($0)", X_OK) == 0
    }

    /// Starts both and waits until they are ready.
    ///
    /// - Parameters:
    ///   - rules: the text of a file of alert rules.
    ///   - scrapes: the text of `scrape_configs`; `TOKEN` in it is a file with the token.
    ///   - receiver: URL that gets alerts.
    ///   - acceptsWrites: true to accept remote write.
    package init(
        rules: String, scrapes: String, token: String, receiver: String, acceptsWrites: Bool = false
    ) async throws {
        directory = try TemporaryDirectory("prometheus")
        let (port, alertPort) = (Int(try Socket.freePort()), Int(try Socket.freePort()))
        self.port = port
        let tokenFile = try directory.write(token, to: "token")
        _ = try directory.write(rules, to: "alerts.yml")
        let configuration = try directory.write(
            """
            global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
            rule_files: [alerts.yml]
            alerting: {alertmanagers: [{static_configs: [{targets: ["127.0.0.1:\(alertPort)"]}]}]}
            scrape_configs:
            \(scrapes.replacingOccurrences(of: "TOKEN", with: tokenFile))
            """, to: "prometheus.yml")
        let receivers = try directory.write(
            """
            route: {receiver: hook, group_by: [alertname], group_wait: 0s, group_interval: 500ms}
            receivers: [{name: hook, webhook_configs: [{url: "\(receiver)", send_resolved: true}]}]
            """, to: "alertmanager.yml")
        processes = [
            try ChildProcess(
                [
                    "prometheus-alertmanager", "--config.file=\(receivers)",
                    "--storage.path=\(directory.path("alerts"))", "--cluster.listen-address=",
                    "--web.listen-address=127.0.0.1:\(alertPort)", "--log.level=warn",
                ], deathSignal: "TERM"),
            try ChildProcess(
                [
                    "prometheus", "--config.file=\(configuration)",
                    "--storage.tsdb.path=\(directory.path("data"))",
                    "--web.listen-address=127.0.0.1:\(port)", "--log.level=warn",
                ] + (acceptsWrites ? ["--web.enable-remote-write-receiver"] : []),
                deathSignal: "TERM"),
        ]
        try await waitUntil(deadlineSeconds: 60, "the start of Prometheus and Alertmanager") {
            if let ended = processes.first(where: { $0.ending != nil }) {
                throw POSIXFailure(ended.errors)
            }
            let answers = [port, alertPort].map { port in
                Task { try? await Wire.exchange(port: port, "GET", "/-/ready").status }
            }
            for answer in answers where await answer.value != 200 { return false }
            return true
        }
    }

    deinit {
        for process in processes { process.endNow(by: SIGKILL) }
    }

    /// Their logs.
    package var errors: String { processes.map(\.errors).joined() }

    /// Returns the first value of a query; nil without one.
    package func value(_ query: String) async throws -> Double? {
        let escaped = query.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? query
        let data = try await get("/api/v1/query?query=\(escaped)")
        let result = (data["result"] as? [[String: Any]])?.first?["value"] as? [Any]
        return (result?.last as? String).flatMap { Double($0) }
    }

    package func alerts() async throws -> Set<Alert> {
        let all = try await get("/api/v1/alerts")["alerts"] as? [[String: Any]] ?? []
        return Set(
            all.compactMap { alert in
                guard let labels = alert["labels"] as? [String: String],
                    let name = labels["alertname"], let state = alert["state"] as? String
                else { return nil }
                return Alert(name: name, state: state)
            })
    }

    private func get(_ target: String) async throws -> [String: Any] {
        let answer = try await Wire.exchange(port: port, "GET", target)
        let object = try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
        guard answer.status == 200, let data = (object as? [String: Any])?["data"] as? [String: Any]
        else { throw POSIXFailure("Prometheus answers \(answer.status): \(answer.body)") }
        return data
    }
}
