import Foundation
import Synchronization
import TestSupport
import Testing

/// Who runs `dray`.
enum Account {
    /// The user of the tests: root in CI, where the database server runs as `dray-postgres`.
    case current
    /// A user without any right: another one where root runs the tests, else the tests' own user.
    case ordinary

    /// Debian's `nobody` and `nogroup`.
    static let ordinaryID: uid_t = 65_534
}

/// A place where a user runs the embedded cluster: HOME, state, edge. What still runs in it when it
/// goes away is killed.
final class EmbeddedHome {
    let account: Account
    private let directory: TemporaryDirectory
    private let binary: String
    /// Holds the binary's copy, when there is one: nothing may run from where the home is.
    private let programs: TemporaryDirectory?

    /// What a database takes at most, in bytes.
    fileprivate static let stateBytes = 256 << 20

    /// The state directory at the start.
    enum State {
        case none
        /// An earlier run of `dray up` has created its empty database: a start takes a third of the time.
        case ofAnEarlierRun
    }

    init(_ account: Account, state: State = .none) async throws {
        self.account = account
        directory = try TemporaryDirectory(
            "home", in: TemporaryDirectory.fastParent(bytes: Self.stateBytes))
        let built = try DrayProcess.binary()
        programs = account == .current ? nil : try TemporaryDirectory("programs")
        binary = programs?.path("dray") ?? built
        if case .ofAnEarlierRun = state {
            try #require(account == .current, "a copied state belongs to the tests' user")
            mkdir(path("own"), 0o755)
            mkdir(path("own/state"), 0o755)
            try await EarlierState.shared().copy(to: stateDirectory)
        }
        guard account == .ordinary else { return }
        // The build may lie where only its owner gets. Copied by another process: what a test beside
        // this one starts would inherit the open file, which the kernel then does not run (ETXTBSY).
        try await ChildProcess.run(["cp", built, binary])
        mkdir(path("own"), 0o700)
        guard geteuid() == 0 else { return }
        chown(path("own"), Account.ordinaryID, Account.ordinaryID)
    }

    deinit {
        for pid in processes { kill(pid, SIGKILL) }
    }

    /// A path in the home; the account's own are below `own`.
    func path(_ relative: String) -> String { directory.path(relative) }

    /// The state that `prefetch` names.
    var stateDirectory: String { path("own/state/dray") }

    /// Where the files go.
    var edge: String { path("own/edge") }

    var report: String { path("own/report.json") }

    /// `dray prefetch LIST --to edge --report report` over the state of this home.
    func prefetch(
        _ list: String, _ options: [String] = [], environment: [String: String] = [:]
    ) throws -> ChildProcess {
        if account == .current {
            try FileManager.default.createDirectory(
                atPath: path("own"), withIntermediateDirectories: true)
        }
        // For root the state is named, as its default would be the machine's.
        let state = account == .current ? ["--state", stateDirectory] : []
        return try start(
            ["prefetch", list, "--to", edge, "--report", report] + state + options, environment)
    }

    /// Starts `dray` as the account, with nothing of the tests' environment that names a place. With
    /// the test process it ends in order: if it was killed, its PostgreSQL would run on, for the next
    /// `dray` to take over.
    func start(
        _ arguments: [String], _ environment: [String: String] = [:]
    ) throws -> ChildProcess {
        var command: [String] = []
        if account == .ordinary, geteuid() == 0 {
            let id = Account.ordinaryID
            // The death signal is lost with the change of the user, so it is set again.
            command = [
                "setpriv", "--reuid=\(id)", "--regid=\(id)", "--clear-groups", "--pdeathsig=TERM",
            ]
        }
        let cleared = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("DRAY_") }
        command += ["env"] + cleared.map { "--unset=\($0)" }
        command += ["HOME=\(path("own"))", "XDG_STATE_HOME=\(path("own/state"))"]
        command += environment.map { "\($0.key)=\($0.value)" }
        return try ChildProcess(
            command + [binary] + arguments, workingDirectory: directory.path,
            deathSignal: "TERM")
    }

    /// Runs `dray` with the home's state directory to its end; returns all that it printed.
    @discardableResult
    func run(_ arguments: [String], exits code: Int32 = 0) async throws -> String {
        let process = try start(arguments + ["--state", stateDirectory])
        #expect(try await process.wait() == .exited(code), "\(process.output)\(process.errors)")
        return process.output + process.errors
    }

    /// Starts `dray` with the home's state directory as the tests' user on a terminal.
    func startOnTerminal(_ arguments: [String]) throws -> TypedTerminal {
        let cleared = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("DRAY_") }
        return try TypedTerminal(
            ["env"] + cleared.map { "--unset=\($0)" } + ["HOME=\(path("own"))", binary] + arguments
                + ["--state", stateDirectory],
            workingDirectory: directory.path, deathSignal: "TERM")
    }

    /// All files and folders of the home.
    func everything() throws -> Set<String> {
        Set(try FileManager.default.subpathsOfDirectory(atPath: directory.path))
    }

    /// What runs in this home or names it: Dray, PostgreSQL and all their children.
    var processes: [pid_t] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return all.compactMap { pid_t($0) }.filter { pid in
            guard pid != getpid() else { return false }
            let place = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(pid)/cwd")
            if place?.hasPrefix(directory.path) == true { return true }
            let words = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
            return words.range(of: Data(directory.path.utf8)) != nil
        }
    }

    /// Nothing was left running or waiting: no process, no temporary object.
    func expectQuiet() async throws {
        try await waitUntil(deadlineSeconds: 60, "the end of all processes of the home") {
            processes.isEmpty
        }
        #expect(try EdgeTree.ownFiles(of: edge).isEmpty)
    }
}

/// What `dray up` leaves in its state directory when it has not been used.
private final class EarlierState: Sendable {
    private static let made = Mutex<Task<EarlierState, any Error>?>(nil)
    private let directory: TemporaryDirectory

    private init() async throws {
        let home = try await EmbeddedHome(.current)
        directory = try TemporaryDirectory(
            "state", in: TemporaryDirectory.fastParent(bytes: EmbeddedHome.stateBytes))
        ExitCleanup.add { [directory] in directory.remove() }
        let up = try home.start(
            ["up", "--listen", "127.0.0.1:0", "--state", directory.path("state")])
        try await waitUntil(deadlineSeconds: 60, "the start of the cluster") {
            guard up.ending == nil else { throw POSIXFailure(up.errors) }
            return up.output.hasSuffix("\n")
        }
        up.signal(SIGTERM)
        guard try await up.wait(deadlineSeconds: 30) == .exited(0) else {
            throw POSIXFailure(up.errors)
        }
    }

    /// Made by the first test that needs it.
    static func shared() async throws -> EarlierState {
        let task = made.withLock { made in
            let task = made ?? Task.detached { try await EarlierState() }
            made = task
            return task
        }
        return try await task.value
    }

    func copy(to path: String) async throws {
        try await ChildProcess.run(["cp", "--archive", directory.path("state"), path])
    }
}

/// The JSON report, read with no help from Dray's own types: its form is what others rely on.
struct Report {
    let root: [String: Any]

    init(_ path: String) throws {
        let bytes = try Data(contentsOf: URL(filePath: path))
        root = try #require(JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    }

    var state: String? { root["state"] as? String }
    var totals: [String: Any] { root["totals"] as? [String: Any] ?? [:] }
    var assets: [[String: Any]] { root["assets"] as? [[String: Any]] ?? [] }

    /// The files of all assets.
    var files: [[String: Any]] { assets.flatMap { $0["files"] as? [[String: Any]] ?? [] } }

    func total(_ key: String) -> Int { (totals[key] as? NSNumber)?.intValue ?? -1 }

    func asset(named name: String) -> [String: Any]? {
        assets.first { $0["name"] as? String == name }
    }

    /// The code of an asset's failure; nil when it has none.
    func failureCode(of name: String) -> String? {
        (asset(named: name)?["failure"] as? [String: Any])?["code"] as? String
    }
}
