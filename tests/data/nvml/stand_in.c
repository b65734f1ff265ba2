/* A stand-in for libnvidia-ml.so.1: two simulated GPUs, so that the real pynvml can be tried without one.
 * NVML_STAND_IN_COUNT sets how many there are; NVML_STAND_IN_FAILS makes nvmlInit fail as without a driver.
 * GPUs 1-2, 3-4 … are joined by NVLink with NVML_STAND_IN_NVLINK, and sit on one PCIe switch in any case. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

typedef int nvmlReturn_t;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct { unsigned int gpu, memory; } nvmlUtilization_t;

static int count(void) { const char *n = getenv("NVML_STAND_IN_COUNT"); return n ? atoi(n) : 2; }
nvmlReturn_t nvmlInit_v2(void) { return getenv("NVML_STAND_IN_FAILS") ? 9 : 0; }
nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { (void)flags; return nvmlInit_v2(); }
nvmlReturn_t nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(nvmlReturn_t code) { (void)code; return "Driver Not Loaded"; }
nvmlReturn_t nvmlSystemGetDriverVersion(char *to, unsigned int size) {
  snprintf(to, size, "580.1 simulated"); return 0;
}
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *n) { *n = count(); return 0; }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **handle) {
  if ((int)i >= count()) return 2;
  *handle = (void *)(size_t)(i + 1); return 0;
}
nvmlReturn_t nvmlDeviceGetUUID(void *handle, char *to, unsigned int size) {
  snprintf(to, size, "GPU-0000000%d-0000-0000-0000-000000000000", (int)(size_t)handle); return 0;
}
/* Minor numbers need not follow the order of the GPUs: the first one here has the last one. */
nvmlReturn_t nvmlDeviceGetMinorNumber(void *handle, unsigned int *minor) {
  *minor = (unsigned int)(count() - (int)(size_t)handle); return 0;
}
nvmlReturn_t nvmlDeviceGetName(void *handle, char *to, unsigned int size) {
  (void)handle; snprintf(to, size, "Stand-in 80GB"); return 0;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(void *handle, nvmlMemory_t *memory) {
  (void)handle; memory->total = 85899345920ULL; memory->used = 1024; memory->free = memory->total - 1024; return 0;
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(void *handle, nvmlUtilization_t *rates) {
  (void)handle; rates->gpu = 37; rates->memory = 5; return 0;
}
nvmlReturn_t nvmlDeviceGetPowerUsage(void *handle, unsigned int *milliwatts) { (void)handle; *milliwatts = 71500; return 0; }
nvmlReturn_t nvmlDeviceGetTemperature(void *handle, int sensor, unsigned int *degrees) {
  (void)handle; (void)sensor; *degrees = 41; return 0;
}
static int is_pair(void *one, void *other) { return ((size_t)one - 1) / 2 == ((size_t)other - 1) / 2; }
nvmlReturn_t nvmlDeviceGetP2PStatus(void *one, void *other, int caps, int *status) {
  *status = caps == 2 && getenv("NVML_STAND_IN_NVLINK") && is_pair(one, other) ? 0 : 5; return 0;
}
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(void *one, void *other, int *level) {
  *level = is_pair(one, other) ? 10 : 50; return 0;
}
