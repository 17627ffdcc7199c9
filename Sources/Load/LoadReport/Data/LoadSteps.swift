import LoadModel
import Statistics

/// The steps of a test with several loads, in JSON.
struct LoadSteps: Encodable {
    struct Step: Encodable {
        let level: Double
        let ending: LoadResult.Ending
        let measuredSeconds: Double
        let requestsPerSecond: Double?
        let bitsPerSecond: Double?
        let errorRate: Double?
        let firstByteP99Microseconds: Int64?
        let totalP99Microseconds: Int64?
        let broken: [String]
        let limit: String?
        let generatorIsLimit: Bool
        let machineIsBusy: Bool
        let cpuShare: Double?
        let lateSends: Int64

        init(_ step: LoadLadder.Step) {
            let result = step.result
            level = step.level
            ending = result.ending
            measuredSeconds = result.measuredSeconds
            requestsPerSecond = result.requestsPerSecond
            bitsPerSecond = result.bitsPerSecond
            errorRate = result.figure(.errorRate)
            firstByteP99Microseconds = result.total[.firstByte]?.value(quantile: 0.99)
            totalP99Microseconds = result.total[.total]?.value(quantile: 0.99)
            limit = step.limit?.rawValue
            broken = result.broken.map(\.threshold.text)
            generatorIsLimit = result.generatorIsLimit
            machineIsBusy = result.machineIsBusy
            cpuShare = result.busiestShare
            lateSends = result.total.counts.pacing.lateSends
        }
    }

    /// Fields as in `dray plan fit --json`.
    struct Law: Encodable {
        let alpha: Double
        let beta: Double
        let gamma: Double
        let peakN: Double?
        let peakX: Double?
        let rSquared: Double
    }

    /// The load at which throughput stopped rising.
    struct Knee: Encodable {
        let level: Double
        let requestsPerSecond: Double
    }

    /// What ended a search early, and at which load.
    struct Stop: Encodable {
        let reason: String
        let level: Double
    }

    let kind: String
    let unit: String
    let steps: [Step]
    let highest: Double?
    let lowestBroken: Double?
    let limit: String?
    let isCapped: Bool
    let cap: String?
    let knee: Knee?
    let stop: Stop?
    /// The command that plans with the limit that was found.
    let plan: String?
    /// For a search: false if the limit of the target was not found.
    let isConclusive: Bool?
    /// For a search of rates that passed one.
    let margin: SearchMargin?
    let usl: Law?

    init(_ ladder: LoadLadder) {
        kind = ladder.kind.rawValue
        unit = ladder.unit.rawValue
        steps = ladder.steps.map(Step.init)
        highest = ladder.highest
        lowestBroken = ladder.lowestBroken
        limit = ladder.limit?.rawValue
        isCapped = ladder.cap != nil
        cap = ladder.cap?.rawValue
        knee = ladder.knee.map { Knee(level: $0.level, requestsPerSecond: $0.perSecond) }
        stop = ladder.stop.map { Stop(reason: $0.reason.rawValue, level: $0.level) }
        plan = LoadFacts.planCommand(ladder)
        isConclusive = ladder.kind == .search ? ladder.isConclusive : nil
        margin = SearchMargin(ladder)
        usl = ladder.fit.map { fit in
            let law = fit.scalability
            return Law(
                alpha: law.alpha, beta: law.beta, gamma: law.gamma, peakN: law.peakN,
                peakX: law.peakX, rSquared: fit.rSquared)
        }
    }
}
