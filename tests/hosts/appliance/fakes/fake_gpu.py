"""A GPU that a test host does not have: nvidia-smi, modprobe and three units that answer as the real ones would.

As with a real one it is neither reset nor loses its driver while a unit keeps that open.
"""

PREPARE = r"""set -e; mkdir -p /hardware
cat > /usr/local/bin/nvidia-smi <<'END'
#!/bin/sh
echo "nvidia-smi $*" >> /hardware/calls
/hardware/in-use && case "$1" in --gpu-reset) echo "In use by another client"; exit 3;; esac
case "$1" in
  --gpu-reset) rm -f /hardware/lost; exit 0;;
  --query-compute-apps*) exit 0;;
esac
[ -e /hardware/lost ] && { echo "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error"; exit 15; }
[ -e /hardware/old ] && { echo "Failed to initialize NVML: Driver/library version mismatch"; exit 18; }
[ -e /hardware/no-fabric ] && { echo "system not yet initialized"; exit 1; }
echo "GPU 0: stand-in (UUID: GPU-0)"
END
cat > /usr/local/sbin/modprobe <<'END'
#!/bin/sh
echo "modprobe $*" >> /hardware/calls
[ "$1" = --remove ] && /hardware/in-use && { echo "modprobe: FATAL: Module nvidia is in use."; exit 1; }
[ "$*" = nvidia ] && rm -f /hardware/old
exit 0
END
cat > /hardware/in-use <<'END'
#!/bin/sh
systemctl is-active -q groundcrew-agent nvidia-persistenced nvidia-fabricmanager nvidia-dcgm
END
chmod 755 /hardware/in-use /usr/local/bin/nvidia-smi /usr/local/sbin/modprobe
unit() {
  printf '[Unit]\nDescription=stand-in\n[Service]\nExecStart=/bin/sh -c "%s; exec sleep infinity"\n' "$1"
  printf '[Install]\nWantedBy=multi-user.target\n'
}
unit true > /etc/systemd/system/nvidia-persistenced.service
unit true > /etc/systemd/system/nvidia-dcgm.service
unit 'rm -f /hardware/no-fabric' > /etc/systemd/system/nvidia-fabricmanager.service
systemctl daemon-reload; systemctl enable --now nvidia-persistenced nvidia-fabricmanager nvidia-dcgm
"""
REMOVE = r"""systemctl disable --now nvidia-persistenced nvidia-fabricmanager nvidia-dcgm
rm -rf /hardware /usr/local/bin/nvidia-smi /usr/local/sbin/modprobe /etc/systemd/system/nvidia-*.service
systemctl daemon-reload"""
