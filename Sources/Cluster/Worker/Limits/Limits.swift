import API
import Model
import Transfer

/// The limits that coordinators set: quotas of origins and sites, and cooldowns.
struct Limits: Sendable {
    let origins: OriginQuotas
    let sites: SiteQuotas
    let cooldowns: CooldownRelay
    let engine: TransferEngine

    /// True if others may wait for this worker's quota reports.
    var hasQuotas: Bool { !origins.isEmpty || !sites.isEmpty }

    /// Applies the limits of a grant, which was made after `grantedAt`.
    func take(_ grant: LeaseGrant, grantedAt: HeldWork.Instant) {
        origins.take(grant.shares, askedAt: grantedAt)
        sites.take(grant.siteShares, askedAt: grantedAt)
        let isAnyInCooldown = grant.cooldowns != nil || engine.isAnyInCooldown
        guard isAnyInCooldown || engine.isAnyLimited else { return }
        let names = grant.origins
        // A coordinator that leases an origin's jobs without a quota found no limits.
        engine.liftLimits(of: names.subtracting((grant.shares ?? []).map(\.origin)))
        cooldowns.take(grant.cooldowns)
        // It also found no cooldown, unless one was reported since.
        let secondsAgo = grantedAt.duration(to: .now) / .seconds(1)
        engine.endCooldowns(
            names.subtracting((grant.cooldowns ?? []).map(\.origin)), reportedUntil: secondsAgo)
    }

    /// Applies the limits of a heartbeat's answer.
    func take(_ answer: HeartbeatAnswer, askedAt: HeldWork.Instant) {
        origins.take(answer.shares, askedAt: askedAt)
        sites.take(answer.siteShares, askedAt: askedAt)
        cooldowns.take(answer.cooldowns)
    }

    /// The uses of quotas, as a heartbeat reports them.
    struct Uses: Sendable {
        var engine: [OriginUse]
        var origins: [OriginQuotaUse]?
        var sites: [SiteQuotaUse]?
    }

    func uses() -> Uses {
        let uses = engine.originUses
        return Uses(engine: uses, origins: origins.uses(uses), sites: sites.uses())
    }

    /// Returns true if a coordinator needs the uses at once.
    func needReport(_ uses: Uses) -> Bool {
        origins.needReport(uses.engine, uses.origins) || sites.needReport(uses.sites)
    }

    /// Records that a coordinator received the uses.
    func reported(_ uses: Uses) {
        origins.reported(uses.engine, uses.origins ?? [])
        sites.reported(uses.sites ?? [])
    }
}
