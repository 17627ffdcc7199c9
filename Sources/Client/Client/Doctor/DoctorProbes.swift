import API
import EventLoop
import Glibc
import JobQueue
import Model
import Postgres
import Services
import Storage
import Synchronization
import Transfer

/// The probes of `dray doctor` that reach further than a coordinator. Each has a time limit.
enum DoctorProbes {
    // MARK: Storage

    /// Checks a site's directory on this machine. Creates no site: one that does not exist fails.
    static func site(
        _ url: StorageURL, volume: VolumeID?, seconds: Double
    ) async -> Result<SiteCheck, Failure> {
        let found = await blockingResult(atMost: .seconds(seconds)) {
            () -> Result<SiteCheck, Failure> in
            do throws(Failure) {
                return .success(try check(url, volume))
            } catch {
                return .failure(error)
            }
        }
        return found
            ?? .failure(
                Failure(.storageIO, "\(url.path): no answer within \(Int(seconds)) seconds"))
    }

    /// Checks a bucket with the credentials of this process.
    static func bucket(
        _ url: StorageURL, _ bucket: BucketLocation, seconds: Double
    ) async -> Result<BucketCheck, Failure> {
        let found = await result(atMost: .seconds(seconds)) { () -> Result<BucketCheck, Failure> in
            do throws(Failure) {
                let storage = try S3Storage(url, bucket, access: BucketAccess())
                return .success(try await storage.check())
            } catch {
                return .failure(error)
            }
        }
        return found
            ?? .failure(
                Failure(
                    .storageUnavailable, "\(url.path): no answer within \(Int(seconds)) seconds"))
    }

    private static func check(
        _ url: StorageURL, _ volume: VolumeID?
    ) throws(Failure) -> SiteCheck {
        guard access(url.path, F_OK) == 0 else {
            throw Failure(
                .inputDestination, "\(url.path): \(String(cString: strerror(errno)))")
        }
        return try DirectoryStorage(url, volume: volume.map { SiteVolume(id: $0) }).check()
    }

    // MARK: Database

    /// Reads the diagnosis of a database without a coordinator.
    static func database(
        _ url: String, seconds: Double
    ) async -> Result<DatabaseDiagnosis, Failure> {
        let found = await result(atMost: .seconds(seconds)) {
            do {
                return Result<DatabaseDiagnosis, Failure>.success(try await read(url))
            } catch {
                return .failure(
                    error as? Failure ?? Failure(.clusterDatabaseUnreachable, "\(error)"))
            }
        }
        return found
            ?? .failure(
                Failure(
                    .clusterDatabaseUnreachable,
                    "PostgreSQL does not answer within \(Int(seconds)) seconds"))
    }

    private static func read(_ url: String) async throws -> DatabaseDiagnosis {
        let loop = try EventLoop(name: "database")
        defer { loop.shutdown() }
        var configuration = PostgresConfiguration.queue(
            url: url, applicationName: "dray doctor", statementTimeoutSeconds: 5)
        configuration.connectTimeoutSeconds = 5
        let pool = PostgresPool(configuration, maximumConnections: 1, on: loop)
        let found: Result<DatabaseDiagnosis, Failure>
        do {
            found = .success(try await Diagnoses(pool: pool).read())
        } catch {
            found = .failure(error)
        }
        await pool.shutdown()
        return try found.get()
    }

    // MARK: Origins

    /// Requests a URL once, and reads the first bytes of its body.
    static func origin(
        _ url: String, _ options: TransferEngine.Options, seconds: Double
    ) async -> OriginChecks.Probe {
        let shown = Redaction.shown(url)
        let probe = await result(atMost: .seconds(seconds)) { () -> OriginChecks.Probe in
            do throws(Failure) {
                return try await request(url, options)
            } catch {
                return OriginChecks.Probe(url: shown, failure: error)
            }
        }
        let late = Failure(.originTimeout, "no answer within \(Int(seconds)) seconds")
        return probe ?? OriginChecks.Probe(url: shown, failure: late)
    }

    private static func request(
        _ url: String, _ options: TransferEngine.Options
    ) async throws(Failure) -> OriginChecks.Probe {
        let engine = try TransferEngine(options: options)
        defer { engine.shutdown() }
        let sink = FirstBytesSink()
        var request = TransferRequest(
            url: url, group: "doctor", destination: .sink { (_) throws(Failure) in sink },
            role: .file)
        request.isManifest = true
        let made = request
        let ended: TransferResult = await withCheckedContinuation { continuation in
            _ = engine.submit(made) { _, result in continuation.resume(returning: result) }
        }
        var probe = OriginChecks.Probe(url: Redaction.shown(url), status: ended.httpStatus)
        probe.firstByteSeconds = ended.firstByteSeconds
        if case .failure(let failure) = ended.outcome, !sink.hasBytes { probe.failure = failure }
        return probe
    }
}

/// Ends a transfer after its first bytes.
private final class FirstBytesSink: TransferSink {
    private let isFilled = Atomic<Bool>(false)

    var hasBytes: Bool { isFilled.load(ordering: .acquiring) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {
        isFilled.store(true, ordering: .releasing)
        throw Failure(.workerCancelled, "the rest is not needed")
    }
}
