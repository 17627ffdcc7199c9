"""Checks the Kubernetes and KEDA objects in a file; prints what is wrong with them.

Needs kubernetes-validate from the Python package index, which has the schemas of Kubernetes itself. Those of
KEDA are not in it: below is what its documentation (keda.sh/docs, ScaledObject and metrics-api) has of the
fields in use. Ends with 77 where the package is missing.
"""

import sys

try:
    import jsonschema
    import kubernetes_validate
    import yaml
except ImportError as error:
    print(error)
    sys.exit(77)


def closed(properties, required):
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": required}


TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 0}
META = closed({"name": {"type": "string", "pattern": "^[a-z0-9][-a-z0-9]*$"}}, ["name"])


def kind(name, spec):
    return closed(
        {"apiVersion": {"const": "keda.sh/v1alpha1"}, "kind": {"const": name}, "metadata": META, "spec": spec},
        ["apiVersion", "kind", "metadata", "spec"],
    )


TRIGGER = closed(
    {
        "type": {"const": "metrics-api"},
        "metricType": {"enum": ["AverageValue", "Value"]},
        "authenticationRef": closed({"name": TEXT}, ["name"]),
        "metadata": closed(
            {
                "url": {"type": "string", "pattern": "^https?://"},
                "valueLocation": TEXT,
                "targetValue": {"type": "string", "pattern": "^[0-9.]+$"},
                "authMode": {"enum": ["apiKey", "basic", "tls", "bearer"]},
            },
            ["url", "valueLocation", "targetValue"],
        ),
    },
    ["type", "metadata"],
)
KEDA = {
    "TriggerAuthentication": kind(
        "TriggerAuthentication",
        closed(
            {"secretTargetRef": {"type": "array", "items": closed({"parameter": TEXT, "name": TEXT, "key": TEXT},
                                                                  ["parameter", "name", "key"])}},
            ["secretTargetRef"],
        ),
    ),
    "ScaledObject": kind(
        "ScaledObject",
        closed(
            {
                "scaleTargetRef": closed({"name": TEXT}, ["name"]),
                "pollingInterval": COUNT,
                "minReplicaCount": COUNT,
                "maxReplicaCount": COUNT,
                "advanced": closed(
                    {"horizontalPodAutoscalerConfig": closed({"behavior": {"type": "object"}}, ["behavior"])},
                    ["horizontalPodAutoscalerConfig"],
                ),
                "triggers": {"type": "array", "minItems": 1, "items": TRIGGER},
            },
            ["scaleTargetRef", "triggers"],
        ),
    ),
}


def autoscaler(scaled):
    """The object that KEDA makes of one, which Kubernetes checks."""
    spec = scaled["spec"]
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "keda-hpa-" + scaled["metadata"]["name"]},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", **spec["scaleTargetRef"]},
            "minReplicas": spec["minReplicaCount"],
            "maxReplicas": spec["maxReplicaCount"],
            "behavior": spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"],
            "metrics": [
                {
                    "type": "External",
                    "external": {
                        "metric": {"name": "s0-metric-api"},
                        "target": {
                            "type": trigger["metricType"],
                            "averageValue": trigger["metadata"]["targetValue"],
                        },
                    },
                }
                for trigger in spec["triggers"]
            ],
        },
    }


def check(document):
    if document["apiVersion"].startswith("keda.sh/"):
        jsonschema.validate(document, KEDA[document["kind"]])
        if document["kind"] != "ScaledObject":
            return
        document = autoscaler(document)
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


wrong = 0
with open(sys.argv[1], encoding="utf-8") as file:
    documents = list(yaml.safe_load_all(file))
for document in documents:
    try:
        check(document)
    except (KeyError, jsonschema.ValidationError, kubernetes_validate.ValidationError) as error:
        wrong += 1
        print(f"{document.get('kind')} {document.get('metadata')}: {str(error).splitlines()[0]}")
sys.exit(1 if wrong else 0)
