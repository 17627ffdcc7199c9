import Foundation
import Model
import Storage
import TestSupport
import Testing

/// Failing disks: the tests of `UnderInjection` run once more in a process of their own whose system
/// calls strace makes fail.
@Suite(.enabled("needs strace and leave to trace") { await Injection.isPossible() })
struct InjectedFaultTests {
    @Test(arguments: [
        ("fsync,fdatasync,syncfs", "EIO", "storage.io"),
        ("fsync,fdatasync,syncfs", "ENOSPC", "storage.full"),
        ("fsync,fdatasync,syncfs", "EDQUOT", "storage.full"),
        ("rename,renameat,renameat2", "EIO", "storage.io"),
        ("rename,renameat,renameat2", "EXDEV", "storage.pathRefused"),
        ("pwrite64", "EIO", "storage.io"),
        ("pwrite64", "ENOSPC", "storage.full"),
    ])
    func nothingIsReportedAsStored(calls: String, error: String, code: String) async throws {
        let visible = try await Injection.run("fails", calls, error, expecting: code)
        #expect(visible.isEmpty)
    }

    @Test func aDirectoryThatCannotBeSyncedFailsItsObjects() async throws {
        // The objects are whole and have their keys; a power cut may take the keys back, so they
        // do not count as stored.
        let visible = try await Injection.run("fails", "fsync", "EIO", expecting: "storage.io")
        #expect(visible.count == 6)
    }

    @Test func interruptedCallsAreStartedAgain() async throws {
        let visible = try await Injection.run(
            "succeeds", "pwrite64,fdatasync,fsync,syncfs", "EINTR:when=1+2", expecting: "")
        #expect(visible.count == 5)
    }
}

/// Runs one test of `UnderInjection` under strace.
private enum Injection {
    static let codeVariable = "DRAY_TEST_EXPECTED_CODE"
    static let siteVariable = "DRAY_TEST_SITE"

    static func isPossible() async -> Bool {
        (try? await ChildProcess.run(["strace", "-qq", "-o", "/dev/null", "true"])) != nil
    }

    static func run(
        _ test: String, _ calls: String, _ error: String, expecting code: String
    ) async throws -> [String] {
        let directory = try TemporaryDirectory("injected")
        // Opened once without faults, so that what fails is the work on objects.
        let site = try Site()
        _ = site.storage
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let child = try ChildProcess(
            [
                "strace", "-f", "-qq", "-o", directory.path("trace"), "-e", "trace=\(calls)", "-e",
                "inject=\(calls):error=\(error)", executable, "--testing-library", "swift-testing",
                "--filter", "UnderInjection/\(test)",
            ], environment: [codeVariable: code, siteVariable: site.directory.path])
        let ending = try await child.wait(deadlineSeconds: 120)
        let report = child.output + child.errors
        #expect(ending == .exited(0), "\(report)")
        #expect(report.contains("Test run with 1 test"), "\(report)")
        #expect(try directory.read("trace").isEmpty == false)
        #expect(try site.privateFiles().isEmpty)
        return try site.visibleFiles()
    }
}

@Suite(
    .enabled(
        if: ProcessInfo.processInfo.environment[Injection.codeVariable] != nil,
        "run by InjectedFaultTests"))
struct UnderInjection {
    private let environment = ProcessInfo.processInfo.environment

    private func storage() throws -> DirectoryStorage {
        let path = try #require(environment[Injection.siteVariable])
        return try DirectoryStorage(StorageURL(directory: path))
    }

    private func pending(_ key: String, in storage: DirectoryStorage) throws -> PendingObject {
        let job = JobID(Int64.random(in: 0...Int64.max))
        let object = try storage.createTemporary(lease: Site.lease, job: job, key: key)
        try [UInt8]([1, 2, 3]).withUnsafeBytes { try object.write($0, at: 0) }
        return object
    }

    /// Whatever fails, one object and a batch are refused with the code.
    @Test func fails() throws {
        let code = environment[Injection.codeVariable]
        let storage: DirectoryStorage
        do {
            storage = try self.storage()
        } catch {
            // Opening the site writes a probe, which a failing pwrite finds out.
            #expect((error as? Failure)?.code.rawValue == code)
            return
        }
        for count in [1, 5] {
            let batch = try (0..<count).map { try pending("h/\(count)/\($0)", in: storage) }
            for result in storage.commit(batch) {
                let failure = #expect(throws: Failure.self) { try result.get() }
                #expect(failure?.code.rawValue == code)
            }
        }
    }

    @Test func succeeds() throws {
        let storage = try storage()
        let batch = try (0..<5).map { try pending("h/\($0)", in: storage) }
        for result in storage.commit(batch) { try result.get() }
    }
}
