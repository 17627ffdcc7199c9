import EventLoop
import Glibc
package import Model
import Services
package import TLS

/// Keeps a coordinator's certificate up to date: reads it again when its files change, and warns
/// before it expires.
struct CertificateKeeper: Service {
    let name = "certificate"
    let certificate: TLSServerCertificate
    private let log = Logger("coordinator")

    /// Interval of readings without a notification, as on network file systems.
    private static let pollInterval = Duration.seconds(3_600)
    /// Pause between the first change and the reading: certificate and key are often written one
    /// after the other.
    private static let settleTime = Duration.milliseconds(500)

    init(_ files: TLSServerFiles) throws(Failure) {
        do throws(TLSError) {
            certificate = try TLSServerCertificate(files)
        } catch {
            throw Failure(error)
        }
        warn()
    }

    /// Runs until its task is cancelled.
    func run() async {
        var warned = ContinuousClock.now
        while !Task.isCancelled {
            // Watches are made again in each round: a changed symlink may lead elsewhere.
            let changes = watch()
            // What changed before the watch began.
            reload()
            await wait(for: changes)
            // An optimized build would end the watches after their last use.
            withExtendedLifetime(changes) {}
            try? await Task.sleep(for: Self.settleTime)
            if ContinuousClock.now - warned > .seconds(86_400) {
                warned = .now
                warn()
            }
        }
    }

    /// Reads the files. The old certificate stays in use if they are not in order.
    func reload() {
        switch certificate.reload() {
        case .unchanged, .failed(_, isRepeated: true): break
        case .failed(let error, isRepeated: false):
            log.error(
                "the certificate cannot be read again; the old one stays in use",
                ["error": "\(error)"])
        case .replaced(let context):
            log.info(
                "certificate replaced",
                [
                    "subject": context.certificate.subject,
                    "daysLeft": context.certificate.daysLeft(atSeconds: Self.now),
                ])
            warn()
        }
    }

    private func watch() -> [DirectoryChanges] {
        let paths = certificate.files.paths.reduce(into: Set<String>()) {
            $0.formUnion(LinkedDirectories.leading(to: $1))
        }
        // Without inotify, the poll finds changes.
        return paths.sorted().compactMap { try? DirectoryChanges(in: $0) }
    }

    private func wait(for changes: [DirectoryChanges]) async {
        let signals = changes.map { $0.next() }
        let poll: @Sendable () async -> Void = { try? await Task.sleep(for: Self.pollInterval) }
        await waitForFirst(
            of: signals.map { signal in { @Sendable in await signal.wait() } } + [poll])
    }

    private func warn() {
        let context = certificate.context
        for warning in context.warnings(atSeconds: Self.now) {
            log.warning("certificate", ["warning": "\(warning)"])
        }
        let days = context.certificate.daysLeft(atSeconds: Self.now)
        // One that has expired is among the warnings above.
        if days >= 0, Certificate.isExpiringSoon(daysLeft: days) {
            log.warning(
                "the certificate expires soon",
                ["path": context.files.certificate, "daysLeft": days])
        }
    }

    private static var now: Int64 { Int64(time(nil)) }
}

extension Failure {
    /// Creates the failure for files of TLS: `input.unreadable` or `input.malformed`.
    package init(_ error: TLSError) {
        let code: FailureCode =
            switch error.reason {
            case .missing, .unreadable, .tooLarge: .inputUnreadable
            default: .inputMalformed
            }
        self.init(code, "\(error)")
    }
}
