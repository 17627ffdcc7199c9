import Model
import Planner
import Rendering

/// Configures KEDA to keep as many workers as the plan has.
///
/// KEDA passes a metric to Kubernetes' autoscaler, which keeps metric / target replicas between a
/// minimum and a maximum. It changes nothing if the metric is within 10 % of the current number
/// (`tolerance` of kube-controller-manager). So the request allows 10 % more workers than
/// needed, and KEDA limits them to the plan's maximum.
struct WorkerScaling {
    /// The minimum number of workers.
    let minimum: Int
    let maximum: Int
    /// Assumed segments per second of a worker: at the plan's rate of the fill the result is
    /// `maximum` plus 10 %.
    let segmentsPerSecond: Double
    let withinSeconds: Int
    let bootSeconds: Int

    /// Relative difference that Kubernetes ignores.
    static let tolerance = 0.1

    init(_ plan: Plan) {
        func value(_ input: ScenarioInput) -> Double { PlanManifests.value(plan, input) }
        let (workers, demand) = (plan.sizing.workers, plan.sizing.demand)
        maximum = max(1, workers.total ?? 1)
        minimum = workers.alwaysThere ?? maximum
        // The plan's ratio includes contention, misses and headroom; retries are not jobs.
        let jobsPerSecond = demand.fillSegmentsPerSecond / max(1, value(.attempts))
        let forFill = min(maximum, (workers.forDeadline ?? maximum) + workers.spare)
        let each =
            jobsPerSecond > 0
            ? jobsPerSecond / Double(max(1, forFill)) / (1 + Self.tolerance)
            : plan.sizing.missSpeed.segmentsPerSecond * (1 - value(.headroom))
        segmentsPerSecond = min(1e6, max(1e-6, each))
        withinSeconds = max(1, Int(saturating: (value(.deadlineHours) * 3_600).rounded()))
        bootSeconds = Int(saturating: value(.bootSeconds).rounded())
    }

    /// Upper limit of the coordinator's answer: if one worker of `maximum` is missing, it must exceed
    /// Kubernetes' tolerance.
    var maxRequested: Int { Int(saturating: (Double(maximum) * (1 + Self.tolerance)).rounded(.up)) }

    /// `segmentsPerSecond` for the request, rounded down: a lower value increases the number of
    /// workers.
    var segmentsPerSecondText: String {
        let millionths = max(1, (segmentsPerSecond * 1e6).rounded(.down))
        return HumanFormat.fixed(millionths / 1e6, places: 6)
    }
}
