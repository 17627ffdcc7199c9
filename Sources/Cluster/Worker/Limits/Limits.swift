import Model
import Transfer

/// The limits that coordinators set: quotas of origins and sites, and cooldowns.
struct Limits: Sendable {
    let origins: OriginQuotas
    let sites: SiteQuotas
    let cooldowns: Cooldowns
    let engine: TransferEngine

    /// Whether others may wait for what this worker reports of its quotas.
    var hasQuotas: Bool { !origins.isEmpty || !sites.isEmpty }

    /// Takes the limits of a grant, which was made after `grantedAt`.
    func take(_ grant: LeaseGrant, grantedAt: HeldWork.Instant) {
        origins.take(grant.shares, askedAt: grantedAt)
        sites.take(grant.siteShares, askedAt: grantedAt)
        let isAnyCooling = grant.cooling != nil || engine.isAnyCooling
        guard isAnyCooling || engine.isAnyLimited else { return }
        let names = Set(grant.jobs.compactMap { originName(of: $0.url) })
        // Whoever hands out an origin's jobs without a quota has found that it has no limits.
        engine.liftLimits(of: names.subtracting((grant.shares ?? []).map(\.origin)))
        cooldowns.take(grant.cooling)
        // It has also found that the origin may be asked, but for what was reported since.
        let secondsAgo = grantedAt.duration(to: .now) / .seconds(1)
        engine.warm(
            names.subtracting((grant.cooling ?? []).map(\.origin)), toldUntil: secondsAgo)
    }

    /// Takes the limits of a heartbeat's answer.
    func take(_ answer: HeartbeatAnswer, askedAt: HeldWork.Instant) {
        origins.take(answer.shares, askedAt: askedAt)
        sites.take(answer.siteShares, askedAt: askedAt)
        cooldowns.take(answer.cooling)
    }

    /// What a heartbeat reports of quotas.
    struct Uses: Sendable {
        var engine: [OriginUse]
        var origins: [OriginShareUse]?
        var sites: [SiteShareUse]?
    }

    func uses() -> Uses {
        let uses = engine.originUses
        return Uses(engine: uses, origins: origins.uses(uses), sites: sites.uses())
    }

    /// Whether a coordinator is to have the uses at once.
    func needReport(_ uses: Uses) -> Bool {
        origins.needReport(uses.engine, uses.origins) || sites.needReport(uses.sites)
    }

    /// A coordinator has the uses.
    func reported(_ uses: Uses) {
        origins.reported(uses.engine, uses.origins ?? [])
        sites.reported(uses.sites ?? [])
    }
}
