import API
import CoordinatorClient
import Model
import Services
import Transfer

/// Passes the cooldowns that coordinators report on to the engine.
struct CooldownRelay: Sendable {
    let client: CoordinatorClient
    let engine: TransferEngine
    let held: HeldWork
    let suspects: SuspectOrigins
    let log: Logger

    /// Blocks requests to these origins until their cooldowns end.
    func take(_ cooldowns: [OriginCooldown]?) {
        guard let cooldowns, !cooldowns.isEmpty else { return }
        suspects.add(cooldowns.lazy.map(\.origin))
        engine.beginCooldowns(
            cooldowns.compactMap { cooldown in
                let seconds = cooldown.seconds.isFinite ? min(cooldown.seconds, 86_400) : 0
                return originName(of: cooldown.origin).map { ($0, seconds) }
            })
    }

    /// Receives new cooldowns at once while the worker holds jobs, until the task is cancelled.
    /// Without jobs, the open lease request does the same.
    func run() async {
        var version: String?
        while !Task.isCancelled {
            await held.waitUntil(.holdsWork)
            if Task.isCancelled { return }
            do {
                let list = try await client.cooldowns(
                    after: version, waitMilliseconds: WireLimits.waitMilliseconds, retrySeconds: 0)
                version = list.version
                take(list.cooldowns)
                // Briefly differing coordinators each answer at once with the other's report.
                try? await Task.sleep(for: .milliseconds(100))
            } catch {
                log.debug("cooldowns could not be read", ["error": "\(error)"])
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }
}
