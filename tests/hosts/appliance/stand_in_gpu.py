"""A GPU that a test host does not have: nvidia-smi, modprobe and two units that answer as the real ones would."""

PREPARE = r"""set -e; mkdir -p /hardware
cat > /usr/local/bin/nvidia-smi <<'END'
#!/bin/sh
echo "nvidia-smi $*" >> /hardware/calls
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
[ "$*" = nvidia ] && rm -f /hardware/old
exit 0
END
chmod 755 /usr/local/bin/nvidia-smi /usr/local/sbin/modprobe
unit() {
  printf '[Unit]\nDescription=stand-in\n[Service]\nExecStart=/bin/sh -c "%s; exec sleep infinity"\n' "$1"
  printf '[Install]\nWantedBy=multi-user.target\n'
}
unit true > /etc/systemd/system/nvidia-persistenced.service
unit 'rm -f /hardware/no-fabric' > /etc/systemd/system/nvidia-fabricmanager.service
systemctl daemon-reload; systemctl enable --now nvidia-persistenced nvidia-fabricmanager
"""
REMOVE = r"""systemctl disable --now nvidia-persistenced nvidia-fabricmanager
rm -rf /hardware /usr/local/bin/nvidia-smi /usr/local/sbin/modprobe /etc/systemd/system/nvidia-*.service
systemctl daemon-reload"""
