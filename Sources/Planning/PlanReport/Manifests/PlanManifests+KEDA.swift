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
    let least: Int
    let most: Int
    /// Assumed segments per second of a worker: at the plan's rate of the fill the result is `most`
    /// plus 10 %.
    let segmentsPerSecond: Double
    let withinSeconds: Int
    let bootSeconds: Int

    /// Relative difference that Kubernetes ignores.
    static let tolerance = 0.1

    init(_ plan: Plan) {
        func value(_ input: ScenarioInput) -> Double { PlanManifests.value(plan, input) }
        let (workers, demand) = (plan.sizing.workers, plan.sizing.demand)
        most = max(1, workers.total ?? 1)
        least = workers.alwaysThere ?? most
        // The plan's ratio includes contention, misses and headroom; retries are not jobs.
        let jobsPerSecond = demand.fillSegmentsPerSecond / max(1, value(.attempts))
        let forFill = min(most, (workers.forDeadline ?? most) + workers.spare)
        let each =
            jobsPerSecond > 0
            ? jobsPerSecond / Double(max(1, forFill)) / (1 + Self.tolerance)
            : plan.sizing.missSpeed.segmentsPerSecond * (1 - value(.headroom))
        segmentsPerSecond = min(1e6, max(1e-6, each))
        withinSeconds = max(1, Int(saturating: (value(.deadlineHours) * 3_600).rounded()))
        bootSeconds = Int(saturating: value(.bootSeconds).rounded())
    }

    /// Upper limit of the coordinator's answer: if one worker of `most` is missing, it must exceed
    /// Kubernetes' tolerance.
    var maxRequested: Int { Int(saturating: (Double(most) * (1 + Self.tolerance)).rounded(.up)) }

    /// Path of the coordinator's route that returns the wanted number of workers.
    var path: String {
        // A lower value increases the number of workers.
        let millionths = max(1, (segmentsPerSecond * 1e6).rounded(.down))
        return "/v1/workers/wanted?workerSegmentsPerSecond="
            + HumanFormat.fixed(millionths / 1e6, places: 6)
            + "&withinSeconds=\(withinSeconds)&bootSeconds=\(bootSeconds)"
            + "&minimum=\(least)&maximum=\(maxRequested)"
    }
}

extension PlanManifests {
    static func keda(_ plan: Plan) -> String {
        let scaling = WorkerScaling(plan)
        let boot = value(plan, .bootSeconds)
        return """
            # \(comment(plan)): the number of workers follows the work left until the deadline. A
            # coordinator calculates it; it releases no worker that has jobs, and does not flap. Its maximum
            # is \(scaling.maxRequested), as Kubernetes ignores a difference of 10 %.
            # The minimum is enough for on-demand fetches at the peak: these cannot wait for a worker to start.
            # Needs a secret `dray` whose `token` is DRAY_TOKEN.
            apiVersion: keda.sh/v1alpha1
            kind: TriggerAuthentication
            metadata:
              name: dray
            spec:
              secretTargetRef:
                - {parameter: token, name: dray, key: token}
            ---
            apiVersion: keda.sh/v1alpha1
            kind: ScaledObject
            metadata:
              name: dray-worker
            spec:
              scaleTargetRef: {name: dray-worker}
              pollingInterval: \(Int(max(5, min(30, boot)).rounded()))
              minReplicaCount: \(scaling.least)
              maxReplicaCount: \(scaling.most)
              advanced:
                horizontalPodAutoscalerConfig:
                  behavior:
                    scaleDown:
                      stabilizationWindowSeconds: 300
                      policies: [{type: Percent, value: 20, periodSeconds: 60}]
                    scaleUp:
                      stabilizationWindowSeconds: 0
                      policies: [{type: Pods, value: \(scaling.most), periodSeconds: 15}]
              triggers:
                - type: metrics-api
                  # One replica per wanted worker.
                  metricType: AverageValue
                  authenticationRef: {name: dray}
                  metadata:
                    url: "http://dray-coordinator:7400\(scaling.path)"
                    valueLocation: workers
                    targetValue: "1"
                    authMode: bearer

            """
    }
}
