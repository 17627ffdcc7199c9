import Foundation
import Glibc
import Model
import TestSupport
import Testing

/// A cluster whose coordinator serves https itself.
@Suite(.timeLimit(.minutes(3))) struct SecureClusterTests {
    private let directory: TemporaryDirectory
    private let authority: TestAuthority
    private let coordinator: ChildProcess
    private let url: String

    /// Starts a coordinator with a certificate that is mounted as Kubernetes does it.
    init() async throws {
        directory = try TemporaryDirectory("tls")
        authority = try await TestAuthority(in: directory)
        let folder = directory.path("mounted")
        let files = FileManager.default
        try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Self.mount(try await authority.server("first"), in: folder, "1")
        for name in ["tls.crt", "tls.key"] {
            try files.createSymbolicLink(
                atPath: "\(folder)/\(name)", withDestinationPath: "..data/\(name)")
        }
        coordinator = try DrayProcess.start([
            "coordinator", "--database", try await PostgresServer.shared().databaseURL("secure"),
            "--listen", "127.0.0.1:0", "--tls-certificate", "\(folder)/tls.crt", "--tls-key",
            "\(folder)/tls.key", "--tls-client-ca", authority.certificate, "--tls-client",
            "optional",
        ])
        let process = coordinator
        try await waitUntil(deadlineSeconds: 30, "the start of a coordinator") {
            guard process.ending == nil else { throw POSIXFailure(process.errors) }
            return process.output.hasSuffix("\n")
        }
        // The certificate is for this address too.
        let words = "export DRAY_COORDINATOR="
        #expect(process.output.hasPrefix(words + "https://127.0.0.1:"))
        url = String(process.output.dropFirst(words.count).prefix { $0 != "\n" })
    }

    /// Writes a pair into a directory of its own, and makes `..data` lead there at once.
    private static func mount(
        _ pair: TestCertificate, in folder: String, _ version: String
    ) throws {
        let files = FileManager.default
        try files.createDirectory(
            atPath: "\(folder)/..\(version)", withIntermediateDirectories: true)
        try files.copyItem(atPath: pair.certificate, toPath: "\(folder)/..\(version)/tls.crt")
        try files.copyItem(atPath: pair.key, toPath: "\(folder)/..\(version)/tls.key")
        try files.createSymbolicLink(
            atPath: "\(folder)/..data_tmp", withDestinationPath: "..\(version)")
        guard rename("\(folder)/..data_tmp", "\(folder)/..data") == 0 else {
            throw POSIXFailure(errno, "rename")
        }
    }

    private func status(
        _ options: [String] = [], url: String? = nil, _ environment: [String: String] = [:]
    ) async throws -> ChildProcess {
        let status = try DrayProcess.start(
            ["status"] + options,
            environment: ["DRAY_COORDINATOR": url ?? self.url].merging(environment) { $1 })
        try await status.wait()
        return status
    }

    private func subject() async throws -> String {
        let child = try ChildProcess([
            "sh", "-c",
            "openssl s_client -connect \(url.dropFirst("https://".count)) </dev/null",
        ])
        try await child.wait()
        return child.output
    }

    @Test func clientsAndWorkersTrustTheFilesAuthority() async throws {
        let trusted = try await status(["--ca-file", authority.certificate])
        #expect(trusted.ending == .exited(0), "\(trusted.errors)")
        let variable = ["DRAY_CA_FILE": authority.certificate]
        let named = try await status([], variable)
        #expect(named.ending == .exited(0), "\(named.errors)")
        let unknown = try await status()
        #expect(unknown.ending == .exited(3))
        #expect(unknown.errors.contains("cluster.untrustedCertificate"), "\(unknown.errors)")
        #expect(unknown.errors.contains("--ca-file"))
        let plain = try await status([], url: "http" + url.dropFirst("https".count))
        #expect(plain.errors.contains("cluster.tlsRequired"), "\(plain.errors)")
        let missing = try await status(["--ca-file", directory.path("none")])
        #expect(missing.ending == .exited(2))
        #expect(missing.errors.contains("input.unreadable"), "\(missing.errors)")
        let half = try await status(["--client-certificate", authority.certificate])
        #expect(half.ending == .exited(2), "\(half.errors)")
        let own = try await authority.client("worker")
        let worker = try DrayProcess.start([
            "worker", "--coordinator", url, "--root", directory.path, "--ca-file",
            authority.certificate, "--client-certificate", own.certificate, "--client-key",
            own.key,
        ])
        try await waitUntil(deadlineSeconds: 30, "the worker") {
            try await status(["--json"], variable).output.contains("-\(worker.pid)\"")
        }
        worker.signal(SIGTERM)
        #expect(try await worker.wait() == .exited(0), "\(worker.errors)")
    }

    /// What a coordinator prints is enough for clients of its machine.
    @Test func theLinesOfACoordinatorMakeClientsTrustIt() async throws {
        #expect(
            coordinator.output.hasSuffix(
                "\nexport DRAY_CA_FILE=\(directory.path("mounted"))/tls.crt\n"),
            "\(coordinator.output)")
        let database = try await PostgresServer.shared().databaseURL("secure_lines")
        let pair = try await authority.server("lines")
        for (environment, file) in [
            (["DRAY_CA_FILE": authority.certificate], authority.certificate),
            ([:], pair.certificate),
        ] as [([String: String], String)] {
            let process = try DrayProcess.start(
                [
                    "coordinator", "--database", database, "--listen", "127.0.0.1:0",
                    "--tls-certificate", pair.certificate, "--tls-key", pair.key,
                ], environment: environment)
            try await waitUntil(deadlineSeconds: 30, "the start of a coordinator") {
                guard process.ending == nil else { throw POSIXFailure(process.errors) }
                return process.output.hasSuffix("\n")
            }
            let lines = process.output.split(separator: "\n").dropFirst()
            #expect(lines == ["export DRAY_CA_FILE=\(file)"], "\(process.output)")
            let client = try ChildProcess(
                [
                    "bash", "-c", "eval \"$0\"; exec \"$@\"", process.output,
                    try DrayProcess.binary(), "status",
                ],
                environment: environment.merging(["DRAY_TOKEN": AccessToken.test.text]) { $1 })
            #expect(try await client.wait() == .exited(0), "\(client.errors)")
            process.signal(SIGTERM)
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
        }
    }

    @Test func aRenewedCertificateIsUsedAndABrokenOneIsNot() async throws {
        #expect(try await subject().contains("CN = first"))
        let folder = directory.path("mounted")
        try Self.mount(try await authority.server("second"), in: folder, "2")
        try await waitUntil(deadlineSeconds: 60, "the new certificate") {
            try await subject().contains("CN = second")
        }
        // The key of another certificate, noticed at SIGHUP, and then without a signal.
        let third = try await authority.server("third")
        try Self.mount(
            TestCertificate(certificate: third.certificate, key: directory.path("first.key")),
            in: folder, "3")
        coordinator.signal(SIGHUP)
        let message = "the old one stays in use"
        try await waitUntil(deadlineSeconds: 60, "the failure") {
            coordinator.errors.contains(message)
        }
        coordinator.signal(SIGHUP)
        #expect(try await subject().contains("CN = second"))
        try Self.mount(third, in: folder, "4")
        coordinator.signal(SIGHUP)
        try await waitUntil(deadlineSeconds: 60, "the third certificate") {
            try await subject().contains("CN = third")
        }
        #expect(coordinator.errors.components(separatedBy: message).count == 2)
        coordinator.signal(SIGTERM)
        #expect(try await coordinator.wait() == .exited(0), "\(coordinator.errors)")
    }

    @Test func filesThatCannotBeUsedAreNamedAtTheStart() async throws {
        let database = try await PostgresServer.shared().databaseURL("secure")
        func start(_ options: [String]) async throws -> ChildProcess {
            let child = try DrayProcess.start(
                ["coordinator", "--database", database, "--listen", "127.0.0.1:0"] + options)
            try await child.wait()
            return child
        }
        let pair = ["--tls-certificate", directory.path("first.pem"), "--tls-key"]
        let foreign = try await start(pair + [directory.path("authority.key")])
        #expect(foreign.ending == .exited(2))
        #expect(foreign.errors.contains("does not belong to the certificate in"))
        let missing = try await start(pair + [directory.path("none")])
        #expect(missing.ending == .exited(2))
        #expect(missing.errors.contains("\(directory.path("none")) does not exist"))
        let half = try await start(Array(pair.dropLast()))
        #expect(half.ending == .exited(2))
        #expect(half.errors.contains("--tls-certificate needs"), "\(half.errors)")
    }
}
