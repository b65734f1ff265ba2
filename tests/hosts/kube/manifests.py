"""What the tests put into the cluster."""

from tests.hosts.kube.programs import PROBE, STAND_IN

GPUS = "nvidia.com/gpu"
DEVICES = f"""
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: stand-in-device-plugin, namespace: kube-system}}
spec:
  selector: {{matchLabels: {{app: stand-in-device-plugin}}}}
  template:
    metadata: {{labels: {{app: stand-in-device-plugin}}}}
    spec:
      tolerations: [{{operator: Exists}}]
      containers:
        - name: plugin
          image: {STAND_IN}
          imagePullPolicy: Never
          env: [{{name: COUNT, value: "2"}}, {{name: RESOURCE, value: {GPUS}}}]
          volumeMounts: [{{name: plugins, mountPath: /var/lib/kubelet/device-plugins}}]
      volumes: [{{name: plugins, hostPath: {{path: /var/lib/kubelet/device-plugins}}}}]
"""
"""Two GPUs on every node, behind which no hardware is."""


def server(name: str, node: str) -> str:
    """A pod on that very node that answers with its name, and a service of the same name."""
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{app: {name}}}}}
spec:
  nodeName: {node}
  terminationGracePeriodSeconds: 1
  containers: [{{name: probe, image: "{PROBE}", imagePullPolicy: Never, args: [serve]}}]
---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{selector: {{app: {name}}}, ports: [{{port: 80, targetPort: 8080}}]}}
"""
