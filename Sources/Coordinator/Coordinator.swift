import EventLoop
import HTTPServer
package import JobQueue
package import Model
import Postgres
import Runtime
import Synchronization

/// The coordinator: the HTTP API over the PostgreSQL queues, and the sweeps that keep them moving.
///
/// It keeps no state that matters: any number of coordinators may serve one database, and any of
/// them may be killed at any moment.
package final class Coordinator: Sendable {
    package struct Configuration: Sendable {
        /// `postgresql://…` or a libpq keyword string.
        package var databaseURL: String
        /// An IP address to listen on.
        package var address: String
        /// 0 takes any free port.
        package var port: Int
        /// What requests must carry.
        package var token: AccessToken
        package var queue: JobQueue.Settings
        /// Most connections to the database, without the one that listens.
        package var databaseConnections: Int

        package init(
            databaseURL: String, address: String, port: Int, token: AccessToken,
            queue: JobQueue.Settings = JobQueue.Settings(), databaseConnections: Int = 8
        ) {
            self.databaseURL = databaseURL
            self.address = address
            self.port = port
            self.token = token
            self.queue = queue
            self.databaseConnections = databaseConnections
        }
    }

    private struct Running {
        var server: HTTPServer
        var tasks: [Task<Void, Never>]
    }

    package let queue: JobQueue
    private let configuration: Configuration
    private let loop: EventLoop
    /// What is asked all the time runs where the connections to the database are.
    private let executor: EventLoopTaskExecutor
    private let pool: PostgresPool
    private let signal = WorkSignal()
    private let reported = WorkSignal()
    private let cooling = CoolingOrigins()
    private let loadTests = CalledLoadTests()
    private let running = Mutex<Running?>(nil)
    private let log = Logger("coordinator")

    package init(_ configuration: Configuration) throws(Failure) {
        self.configuration = configuration
        do {
            loop = try EventLoop(name: "coordinator")
            executor = EventLoopTaskExecutor(loop)
        } catch {
            throw Failure("worker.internal", "No event loop could be made: \(error)")
        }
        pool = PostgresPool(
            PostgresConfiguration.queue(
                url: configuration.databaseURL, applicationName: "dray coordinator",
                sessionSettings: JobQueue.sessionSettings),
            maximumConnections: configuration.databaseConnections, on: loop)
        queue = JobQueue(pool: pool, settings: configuration.queue)
    }

    /// Brings the schema up to date and begins to listen; returns the port.
    ///
    /// Throws `cluster.databaseUnreachable`, `cluster.schemaNewer`, `cluster.portInUse` and
    /// `input.field` (an address or port that there is not).
    package func start() async throws(Failure) -> Int {
        try await Migrations.migrate(pool)
        let routes = Routes(
            queue: queue, signal: signal, reported: reported, cooling: cooling,
            loadTests: loadTests, access: Access(token: configuration.token),
            readiness: ReadinessProbe(queue: queue))
        let server = try listen(routes)
        let tasks = [
            Task { await self.hearOfWork() },
            Task { await self.keepHouse() },
            Task { await self.foldReports() },
        ]
        running.withLock { $0 = Running(server: server, tasks: tasks) }
        log.info("listening", ["address": configuration.address, "port": server.port])
        return Int(server.port)
    }

    private func listen(_ routes: Routes) throws(Failure) -> HTTPServer {
        guard let port = UInt16(exactly: configuration.port) else {
            throw Failure("input.field", "--listen: there is no port \(configuration.port).")
        }
        do {
            return try HTTPServer.start(
                HTTPServer.Configuration(
                    address: configuration.address, port: port,
                    maximumBodyBytes: WireLimits.bodyBytes, refusal: Routes.refusal,
                    admission: routes.refusal, knows: routes.knows,
                    executor: { [executor] in Routes.isFrequent($0) ? executor : nil },
                    // What is under way is to be finished and answered, not cut off half-way.
                    cancelsHandlers: false)
            ) { await routes.answer($0) }
        } catch {
            let place = "\(configuration.address):\(configuration.port)"
            if case .addressInUse = error {
                throw Failure("cluster.portInUse", "\(place) is taken by another process.")
            }
            throw Failure("input.field", "--listen \(place): \(error)")
        }
    }

    /// Answers what is under way, then closes everything. Safe to call more than once.
    package func stop() async {
        let state = running.withLock { state in
            defer { state = nil }
            return state
        }
        signal.close()
        reported.close()
        cooling.signal.close()
        loadTests.news.close()
        state?.tasks.forEach { $0.cancel() }
        await state?.server.shutdown()
        for task in state?.tasks ?? [] { await task.value }
        await pool.shutdown()
        loop.shutdown()
    }

    /// Requests for work that are held open now.
    package var waitingRequests: Int { signal.waiterCount }

    package static func isLoopback(_ address: String) -> Bool {
        // A name that begins like an address is no address.
        let isIPv4 = address.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
        return address == "::1" || address == "localhost"
            || (isIPv4 && address.hasPrefix("127."))
    }

    // MARK: In the background

    /// Wakes long polls on NOTIFY; the connection is made anew when it breaks.
    private func hearOfWork() async {
        while !Task.isCancelled {
            do {
                let connection = try await PostgresConnection.connect(
                    PostgresConfiguration.queue(
                        url: configuration.databaseURL, applicationName: "dray listener"),
                    on: loop)
                try await connection.listen(to: "dray_work")
                // What was missed while nobody listened.
                await readCooling()
                await readSiteBounds()
                await readLoadTests()
                signal.fire()
                await withTaskCancellationHandler {
                    for await notification in connection.notifications {
                        if notification.payload == "load tests" {
                            await self.readLoadTests()
                            continue
                        }
                        if notification.payload == "origins" { await self.readCooling() }
                        if notification.payload == "sites" { await self.readSiteBounds() }
                        signal.fire()
                    }
                } onCancel: {
                    Task { await connection.close() }
                }
                await connection.close()
            } catch {
                log.debug("listening for work failed", ["error": "\(error)"])
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// Reads which origins are left alone. Workers that wait for work hear of a new one at once: what
    /// fires the signal afterwards is what told of it, or this.
    private func readCooling() async {
        do {
            if cooling.set(try await queue.coolingOrigins()) { signal.fire() }
        } catch {
            log.warning("reading the origins' cooldowns failed", ["error": "\(error)"])
        }
    }

    /// Reads which load tests want workers, and wakes who waits for news of one. Workers that wait for
    /// work hear of a new one at once.
    private func readLoadTests() async {
        do {
            if loadTests.set(try await queue.calledLoadTests()) { signal.fire() }
        } catch {
            log.warning("reading the load tests failed", ["error": "\(error)"])
        }
        loadTests.news.fire()
    }

    private func readSiteBounds() async {
        do {
            try await queue.readSiteBounds()
        } catch {
            log.warning("reading the sites' bounds failed", ["error": "\(error)"])
        }
    }

    /// Folds what reports left into the counts of catalogs: soon after a report, so that a catalog
    /// ends when its last segment does, and not for every report when there are many.
    private func foldReports() async {
        let clock = ContinuousClock()
        while !Task.isCancelled {
            let version = reported.version
            var isPending = false
            let start = clock.now
            do {
                isPending = try await queue.fold()
            } catch {
                log.warning("folding reports failed", ["error": "\(error)"])
            }
            await restAfterFold(of: clock.now - start)
            if !isPending { await reported.wait(after: version, atMost: .seconds(1)) }
        }
    }

    /// While all workers have work, a twentieth of the time at most goes into folds; a third where one waits
    /// for work, which the end of an asset may be.
    private func restAfterFold(of duration: Duration) async {
        let clock = ContinuousClock()
        let start = clock.now
        let least = min(max(.milliseconds(5), duration * 2), .milliseconds(50))
        let most = min(max(.milliseconds(5), duration * 20), .milliseconds(200))
        var rest = least
        repeat {
            try? await Task.sleep(for: rest)
            rest = min(.milliseconds(5), most - (clock.now - start))
        } while rest > .zero && signal.waiterCount == 0 && !Task.isCancelled
    }

    /// Once a second: puts schedules in force, ends leases that ran out, and looks for work that
    /// became due, for which there is no NOTIFY.
    private func keepHouse() async {
        var seconds = 0
        while !Task.isCancelled {
            do {
                try await queue.applySchedules(all: seconds % 30 == 0)
                try await queue.watchSites()
                await readSiteBounds()
                let ended = try await queue.sweep()
                if ended > 0 { log.warning("leases ran out", ["jobs": ended]) }
                let moved = try await queue.moveToMirrors()
                if moved > 0 { log.info("mirrors serve for origins left alone", ["jobs": moved]) }
                if try await queue.endQuotas() { signal.fire() }
                await readCooling()
                if loadTests.set(try await queue.tendLoadTests()) { signal.fire() }
                if signal.waiterCount > 0, try await queue.hasWork() { signal.fire() }
                if seconds % 30 == 0 { try await queue.tidy() }
                if seconds % 60 == 0, let days = queue.settings.retentionDays {
                    let gone = try await queue.forget(olderThanDays: days)
                    if gone > 0 { log.info("old catalogs were forgotten", ["count": gone]) }
                }
            } catch {
                log.warning("housekeeping failed", ["error": "\(error)"])
            }
            seconds += 1
            try? await Task.sleep(for: .seconds(1))
        }
    }
}
