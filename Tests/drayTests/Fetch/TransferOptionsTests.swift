import Foundation
import TestSupport
import Testing

/// Settings of origins and address lists as commands take them: from options and the environment,
/// checked before anything is asked.
@Suite(.timeLimit(.minutes(2))) struct TransferOptionsTests {
    private let directory: TemporaryDirectory
    private let origin: FaultOrigin

    init() throws {
        directory = try TemporaryDirectory("options")
        origin = try FaultOrigin()
        origin.route("/x", .init(text: "direct"))
    }

    private func fetch(
        _ options: [String] = [], environment: [String: String] = [:]
    ) async throws -> (ending: ChildProcess.Ending, output: String, errors: String) {
        let process = try DrayProcess.start(
            ["fetch", "-o", "-", origin.url("/x")] + options, environment: environment,
            workingDirectory: directory.path)
        return (try await process.wait(), process.output, process.errors)
    }

    private func settings(_ fields: String, mode: Int = 0o600) throws -> String {
        let path = try directory.write(#"{"\#(origin.url())": {\#(fields)}}"#, to: "origins.json")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    @Test func settingsComeFromTheOptionOrTheEnvironment() async throws {
        let path = try settings(#""bearer": "s3cret", "userAgent": "acme/1""#)
        let byOption = try await fetch(["--origin-settings", "origins.json"])
        #expect(byOption.ending == .exited(0), "\(byOption.errors)")
        #expect(!byOption.errors.contains("chmod") && !byOption.errors.contains("s3cret"))
        let byVariable = try await fetch(environment: ["DRAY_ORIGIN_SETTINGS": path])
        #expect(byVariable.ending == .exited(0))
        for request in origin.requests {
            #expect(request.headers["authorization"] == "Bearer s3cret")
            #expect(request.headers["user-agent"] == "acme/1")
        }
        #expect(origin.requests.count == 2)
    }

    @Test func secretsThatOthersCanReadAreReported() async throws {
        let path = try settings(#""bearer": "s3cret""#, mode: 0o640)
        let told = try await fetch(["--origin-settings", path])
        #expect(told.ending == .exited(0))
        #expect(told.errors.contains("other users can read it; run: chmod 600"))
        let open = try settings(#""userAgent": "acme/1""#, mode: 0o644)
        #expect(try await !fetch(["--origin-settings", open]).errors.contains("chmod"))
    }

    @Test(arguments: [
        (#""baerer": "s3cret""#, "baerer: is not known here"),
        (#""caFile": "no.pem""#, "names no.pem: No such file"),
        (#""proxyCaFile": "no.pem""#, "names no.pem: No such file"),
        (#""clientCertificate": {"certificate": "no.pem"}"#, "names no.pem: No such file"),
        (#""bearer": "s3 cret""#, "bearer: cannot be used"),
    ])
    func wrongSettingsSendNoRequest(fields: String, message: String) async throws {
        let answer = try await fetch(["--origin-settings", try settings(fields)])
        #expect(answer.ending == .exited(2))
        #expect(answer.errors.contains(message), "\(answer.errors)")
        for secret in ["s3cret", "s3 cret"] { #expect(!answer.errors.contains(secret)) }
        #expect(origin.acceptedConnections == 0)
    }

    @Test func aProxyIsTheSettingsAndNotTheEnvironments() async throws {
        let proxy = try FaultOrigin()
        proxy.route(origin.url("/x"), .init(text: "by proxy"))
        // A no_proxy that counted would have the origin connected to, past the address policy.
        let path = try settings(#""proxy": "\#(proxy.url())""#)
        let by = try await fetch(
            ["--origin-settings", path], environment: ["no_proxy": "*", "NO_PROXY": "*"])
        #expect(by.output == "by proxy", "\(by.errors)")
        #expect(origin.acceptedConnections == 0)
        let direct = try await fetch(
            environment: ["http_proxy": proxy.url(), "all_proxy": proxy.url()])
        #expect(direct.output == "direct")
        #expect(proxy.requests.count == 1)
    }

    @Test func addressListsHold() async throws {
        let option = try await fetch(["--deny-addresses", "10.0.0.0/8, 127.0.0.0/8"])
        #expect(option.ending == .exited(1))
        #expect(
            option.errors.contains("; --allow-addresses 127.0.0.1/32 would (origin.addressDenied)"))
        let variable = ["DRAY_DENY_ADDRESSES": "127.0.0.0/8,::1"]
        #expect(try await fetch(environment: variable).ending == .exited(1))
        #expect(origin.acceptedConnections == 0)
        // The longer block decides; the option overrides the variable.
        let allowed = try await fetch(["--allow-addresses", "127.0.0.1"], environment: variable)
        #expect(allowed.ending == .exited(0))
        let never = try DrayProcess.start(["fetch", "-o", "-", "http://169.254.169.254/x"])
        #expect(try await never.wait() == .exited(1))
        #expect(never.errors.contains("(origin.addressForbidden)"), "\(never.errors)")
        #expect(!never.errors.contains("--allow-addresses"), "\(never.errors)")
        let wrong = try await fetch(["--allow-addresses", "10.1.0.0/8"])
        #expect(wrong.ending == .exited(2))
        #expect(wrong.errors.contains("--allow-addresses: '10.1.0.0/8' has bits after its prefix"))
    }
}

extension EndToEnd {
    /// A worker of a cluster fetches for others, who may not make it send requests to internal hosts.
    @Suite(.timeLimit(.minutes(2))) struct ClusterAddressTests {
        @Test func aWorkerConnectsToPrivateAddressesOnlyIfAllowed() async throws {
            let origin = try FaultOrigin()
            origin.route("/x", .init(text: "inside"))
            let edge = try TemporaryDirectory("edge")
            let strict = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 2, leaseSeconds: 60,
                admitsLoopback: false)
            let report = edge.path("report.json")
            let prefetch = try strict.start([
                "prefetch", origin.url("/x"), "--to", edge.path("site"), "--report", report,
            ])
            #expect(try await prefetch.wait() == .exited(1), "\(prefetch.errors)")
            let text = String(decoding: try edge.read("report.json"), as: UTF8.self)
            #expect(text.contains("origin.addressDenied"))
            #expect(origin.acceptedConnections == 0)
            try await strict.stop()
        }
    }
}
