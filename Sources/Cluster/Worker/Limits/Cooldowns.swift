import CoordinatorClient
import Model
import Services
import Transfer

/// Keeps the engine from origins in cooldown, as coordinators report them.
struct Cooldowns: Sendable {
    let client: CoordinatorClient
    let engine: TransferEngine
    let held: HeldWork
    let suspects: SuspectOrigins
    let log: Logger

    /// Asks no origin of these until its cooldown is over.
    func take(_ cooling: [OriginCooldown]?) {
        guard let cooling, !cooling.isEmpty else { return }
        suspects.add(cooling.lazy.map(\.origin))
        engine.cool(
            cooling.compactMap { cooldown in
                let seconds = cooldown.seconds.isFinite ? min(cooldown.seconds, 86_400) : 0
                return originName(of: cooldown.origin).map { ($0, seconds) }
            })
    }

    /// While there is work, takes new cooldowns as soon as a coordinator has them, until the task is cancelled. A
    /// request for work that is held open does the same for a worker without.
    func run() async {
        var version: String?
        while !Task.isCancelled {
            await held.waitUntil(.holdsWork)
            if Task.isCancelled { return }
            do {
                let list = try await client.cooling(
                    after: version, waitMilliseconds: WireLimits.waitMilliseconds, retrySeconds: 0)
                version = list.version
                take(list.cooling)
                // Coordinators that differ for a moment each answer at once what the other reported.
                try? await Task.sleep(for: .milliseconds(100))
            } catch {
                log.debug("cooldowns could not be read", ["error": "\(error)"])
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }
}
