import Model
import Planner
import Rendering

/// Configures KEDA to keep as many workers as the plan has.
///
/// KEDA hands a metric to Kubernetes' autoscaler, which keeps metric / target replicas, between the
/// least and the most, and changes nothing where that is within 10 % of what there is (`tolerance` of
/// kube-controller-manager). So a coordinator is asked for a tenth more workers than are needed, of
/// which KEDA takes as many as the plan has at most.
struct WorkerScaling {
    /// The minimum number of workers.
    let least: Int
    let most: Int
    /// What a coordinator takes a worker to do: at the plan's pace of the fill it comes to `most`, and
    /// a tenth.
    let segmentsPerSecond: Double
    let withinSeconds: Int
    let bootSeconds: Int

    /// What Kubernetes takes for no difference.
    static let tolerance = 0.1

    init(_ plan: Plan) {
        func value(_ input: ScenarioInput) -> Double { PlanManifests.value(plan, input) }
        let (workers, demand) = (plan.sizing.workers, plan.sizing.demand)
        most = max(1, workers.total ?? 1)
        least = workers.alwaysThere ?? most
        // By the plan's own ratio, in which contention, misses and headroom are; tries are no jobs.
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

    /// The most that a coordinator may ask for: where one less than `most` are there, more than what
    /// Kubernetes takes for no difference.
    var mostAskedFor: Int { Int(saturating: (Double(most) * (1 + Self.tolerance)).rounded(.up)) }

    /// What a coordinator is asked for the number of workers that are wanted now.
    var path: String {
        // Less asks for more.
        let millionths = max(1, (segmentsPerSecond * 1e6).rounded(.down))
        return "/v1/workers/wanted?workerSegmentsPerSecond="
            + HumanFormat.fixed(millionths / 1e6, places: 6)
            + "&withinSeconds=\(withinSeconds)&bootSeconds=\(bootSeconds)"
            + "&minimum=\(least)&maximum=\(mostAskedFor)"
    }
}

extension PlanManifests {
    static func keda(_ plan: Plan) -> String {
        let scaling = WorkerScaling(plan)
        let boot = value(plan, .bootSeconds)
        return """
            # \(comment(plan)): the number of workers follows what is left to do until the deadline. A
            # coordinator says how many; it lets none go that holds work, and does not flap. It is asked
            # for up to \(scaling.mostAskedFor), as Kubernetes takes a tenth for no difference.
            # The least are those that fetch on demand at the peak: a worker starts later than a fetch waits.
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
                  # Workers wanted, one of them a replica.
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
