"""The manifests that the tests put into the cluster."""

from tests.hosts.kube.workloads.program_images import PROBE, STAND_IN

GPUS = "nvidia.com/gpu"


def device_plugin(tolerations: str) -> str:
    """Two GPUs on every node on which pods with these tolerations may be, behind which no hardware is."""
    return f"""
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: stand-in-device-plugin, namespace: kube-system}}
spec:
  selector: {{matchLabels: {{app: stand-in-device-plugin}}}}
  template:
    metadata: {{labels: {{app: stand-in-device-plugin}}}}
    spec:
      tolerations: {tolerations}
      containers:
        - name: plugin
          image: {STAND_IN}
          imagePullPolicy: Never
          env: [{{name: COUNT, value: "2"}}, {{name: RESOURCE, value: {GPUS}}}]
          volumeMounts: [{{name: plugins, mountPath: /var/lib/kubelet/device-plugins}}]
      volumes: [{{name: plugins, hostPath: {{path: /var/lib/kubelet/device-plugins}}}}]
"""


DEVICES = device_plugin("[{operator: Exists}]")
DEVICES_OF_WORKERS = device_plugin("[]")
"""None on a control plane that takes no pods."""


def server(name: str, node: str, namespace: str = "default") -> str:
    """A pod on that very node that answers with its name, and a service of the same name."""
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}, labels: {{app: {name}}}}}
spec:
  nodeName: {node}
  terminationGracePeriodSeconds: 1
  containers: [{{name: probe, image: "{PROBE}", imagePullPolicy: Never, args: [serve]}}]
---
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{selector: {{app: {name}}}, ports: [{{port: 80, targetPort: 8080}}]}}
"""


QUEUE = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: tests}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
    - coveredResources: [cpu, memory, {GPUS}]
      flavors:
        - name: stand-in
          resources:
            - {{name: cpu, nominalQuota: 8}}
            - {{name: memory, nominalQuota: 16Gi}}
            - {{name: {GPUS}, nominalQuota: 4}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: tests, namespace: default}}
spec: {{clusterQueue: tests}}
"""
"""Of the flavour that the nodes' kind of GPU has given its name."""


def training(name: str, image: str, user: str) -> str:
    """Two ranks, a GPU each, which Kueue admits together and the MPI operator starts."""
    home = f"/home/{user}"
    serve = f"exec /usr/sbin/sshd -De -f {home}/.sshd_config -o SetEnv=NVIDIA_VISIBLE_DEVICES=$NVIDIA_VISIBLE_DEVICES"
    said = "echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE has $NVIDIA_VISIBLE_DEVICES"
    return f"""
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: {name}, labels: {{kueue.x-k8s.io/queue-name: tests}}}}
spec:
  slotsPerWorker: 1
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy: {{cleanPodPolicy: Running, backoffLimit: 6}}
  sshAuthMountPath: {home}/.ssh
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: launcher
              image: "{image}"
              securityContext: {{runAsUser: 1000}}
              command: [mpirun, -n, "2", bash, -c, '{said}']
              resources: {{requests: {{cpu: 50m, memory: 64Mi}}}}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: worker
              image: "{image}"
              securityContext: {{runAsUser: 1000}}
              command: [bash, -c, "{serve}"]
              readinessProbe: {{tcpSocket: {{port: 2222}}, periodSeconds: 2}}
              resources: {{requests: {{cpu: 50m, memory: 64Mi}}, limits: {{{GPUS}: 1}}}}
"""
