import Planner

extension PlanManifests {
    /// Returns deployments of coordinators and workers; the secret `dray` has `token` and
    /// `database`.
    static func kubernetes(_ plan: Plan, version: String) -> String {
        let head = """
            # \(comment(plan)): coordinators and workers. Needs a secret `dray` with `token` and
            # `database` (postgresql://…), and a claim `dray-edge` that all workers can write to.

            """
        let parts = [
            head + coordinator(plan, version: version), service, budget("coordinator", most: 1),
            worker(plan, version: version),
            budget("worker", most: max(1, plan.sizing.workers.spare)),
        ]
        return parts.joined(separator: "---\n")
    }

    private static func coordinator(_ plan: Plan, version: String) -> String {
        let probes = """
                      ports:
                        - containerPort: 7400
                      readinessProbe:
                        httpGet: {path: /readyz, port: 7400}
                        periodSeconds: 2
                      livenessProbe:
                        httpGet: {path: /healthz, port: 7400}
                        periodSeconds: 10

            """
        return deployment(
            "coordinator", plan.sizing.database.coordinators,
            cores: value(plan, .coordinatorCores), version: version,
            arguments: ["coordinator", "--listen", "0.0.0.0:7400"],
            environment: secret("DRAY_DATABASE_URL", "database"), rest: probes)
    }

    private static func worker(_ plan: Plan, version: String) -> String {
        let volumes = """
                      volumeMounts:
                        - {name: edge, mountPath: /srv/edge}
                  volumes:
                    - name: edge
                      persistentVolumeClaim: {claimName: dray-edge}

            """
        return deployment(
            "worker", plan.sizing.workers.total ?? 0, cores: workerCores(plan), version: version,
            arguments: [
                "worker", "--coordinator", "http://dray-coordinator:7400", "--root", "/srv/edge",
                "--connections", "\(Int(value(plan, .connections)))",
            ], environment: "", rest: volumes)
    }

    private static let service = """
        apiVersion: v1
        kind: Service
        metadata:
          name: dray-coordinator
        spec:
          selector: {app: dray-coordinator}
          ports:
            - port: 7400

        """

    private static func secret(_ name: String, _ key: String) -> String {
        """
                    - name: \(name)
                      valueFrom:
                        secretKeyRef: {name: dray, key: \(key)}

        """
    }

    /// Returns a deployment; `rest` continues its container and then its pod.
    private static func deployment(
        _ name: String, _ replicas: Int, cores: Double, version: String, arguments: [String],
        environment: String, rest: String
    ) -> String {
        let quoted = arguments.map { "\"\($0)\"" }.joined(separator: ", ")
        let head = """
            apiVersion: apps/v1
            kind: Deployment
            metadata:
              name: dray-\(name)
            spec:
              replicas: \(replicas)
              selector:
                matchLabels: {app: dray-\(name)}
              template:
                metadata:
                  labels: {app: dray-\(name)}
                spec:
                  # A worker finishes jobs for up to 15 seconds and returns the rest.
                  terminationGracePeriodSeconds: 30
                  containers:
                    - name: \(name)
                      image: dray:\(version)
                      args: [\(quoted)]
                      resources:
                        requests: {cpu: \(cpu(cores)), memory: 256Mi}
                        limits: {memory: 512Mi}
                      securityContext:
                        runAsNonRoot: true
                        runAsUser: 10001
                        readOnlyRootFilesystem: true
                        allowPrivilegeEscalation: false
                        capabilities: {drop: [ALL]}
                      env:

            """
        return head + secret("DRAY_TOKEN", "token") + environment + rest
    }

    private static func budget(_ name: String, most: Int) -> String {
        """
        apiVersion: policy/v1
        kind: PodDisruptionBudget
        metadata:
          name: dray-\(name)
        spec:
          maxUnavailable: \(most)
          selector:
            matchLabels: {app: dray-\(name)}

        """
    }
}
