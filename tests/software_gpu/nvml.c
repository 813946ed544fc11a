/* libnvidia-ml.so.1 of machines without a GPU: NVML's real symbols, structures and return codes over a state that a test
   drives. Structures are those of nvml.h (driver 575 and older ABI, as pynvml declares them). */
#include "state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9, TIMEOUT = 10, VERSION_MISMATCH = 25
};

typedef struct device { int gpu, mig; } *device_t;
typedef struct { char legacy[16]; unsigned domain, bus, device, pci_device_id, sub_system; char bus_id[32]; } pci_info;
typedef struct { unsigned long long total, free, used; } memory_v1;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;
typedef struct { unsigned gpu, memory; } utilization;
typedef struct { unsigned version; int sensor; int temperature; } temperature_v1;
typedef struct { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; } process_info;
typedef union { double d; unsigned ui; unsigned long ul; unsigned long long ull; long long sll; int si; } value_t;
typedef struct { unsigned field, scope; long long timestamp, latency; int type, ret; value_t value; } field_value;
typedef struct { unsigned long long reference, violation; } violation_time;
typedef struct { unsigned long long timestamp; value_t value; } sample_t;
typedef struct { device_t device; unsigned long long type, data; unsigned gpu_instance, compute_instance; } event_data;
typedef struct { unsigned version, supported; } gpm_support;
typedef struct { unsigned id; int ret; double value; struct { char *a, *b, *c; } info; } gpm_metric;
typedef struct { double at; int gpu, mig; } *gpm_sample;
typedef struct { unsigned version, count; gpm_sample first, second; gpm_metric metrics[]; } gpm_get;
typedef struct { unsigned sms, copy, dec, enc, jpeg, ofa, gpu_slices, compute_slices; unsigned long long memory_mb; } attributes;
typedef struct { unsigned seen[SOFT_GPUS]; unsigned long long types[SOFT_GPUS]; } *event_set;

static struct device devices[SOFT_GPUS][SOFT_MIG + 1];
static unsigned generation;

static int ready(soft_state **state) {
    *state = soft_map();
    if (!*state) return DRIVER_NOT_LOADED;
    __atomic_add_fetch(&(*state)->calls, 1, __ATOMIC_RELAXED);
    if (!(*state)->loaded || generation != (*state)->generation) return UNINITIALIZED;
    return OK;
}

static int found(device_t device, soft_gpu **gpu) {
    soft_state *state;
    int ret = ready(&state);
    if (ret) return ret;
    if (device < &devices[0][0] || device > &devices[SOFT_GPUS - 1][SOFT_MIG]) return INVALID_ARGUMENT;
    *gpu = &state->gpu[device->gpu];
    if ((*gpu)->hang_ms) usleep((*gpu)->hang_ms * 1000);
    return (*gpu)->error;
}

static int supported(device_t device, soft_gpu **gpu, unsigned field) {
    int ret = found(device, gpu);
    if (ret) return ret;
    if (field < SOFT_FIELDS && (*gpu)->unsupported[field]) return NOT_SUPPORTED;
    return OK;
}

static int text(char *to, unsigned size, const char *from) {
    if (strlen(from) + 1 > size) return INSUFFICIENT_SIZE;
    strcpy(to, from);
    return OK;
}

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    soft_state *state = soft_map();
    if (!state || !state->loaded) return DRIVER_NOT_LOADED;
    generation = state->generation;
    for (int g = 0; g < SOFT_GPUS; g++)
        for (int m = 0; m <= SOFT_MIG; m++) devices[g][m] = (struct device){g, m - 1};
    return OK;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) {
    soft_state *state;
    int ret = ready(&state);
    generation = 0;
    return ret;
}
const char *nvmlErrorString(int ret) {
    static char told[32];
    switch (ret) {
    case UNINITIALIZED: return "Uninitialized";
    case NOT_SUPPORTED: return "Not Supported";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case TIMEOUT: return "Timeout";
    case 15: return "GPU is lost";
    }
    snprintf(told, sizeof told, "Error %d", ret);
    return told;
}
int nvmlSystemGetDriverVersion(char *to, unsigned size) {
    soft_state *s;
    int ret = ready(&s);
    return ret ? ret : text(to, size, s->driver_version);
}
int nvmlSystemGetNVMLVersion(char *to, unsigned size) {
    soft_state *s;
    int ret = ready(&s);
    return ret ? ret : text(to, size, s->nvml_version);
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    soft_state *s;
    int ret = ready(&s);
    if (!ret) *count = s->gpus;
    return ret;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t *device) {
    soft_state *s;
    int ret = ready(&s);
    if (ret) return ret;
    if (index >= s->gpus) return INVALID_ARGUMENT;
    *device = &devices[index][0];
    return s->gpu[index].error;
}

/* One call, one value: what follows is the same for all of them. */
#define GIVES(NAME, TYPE, FIELD, EXPR)                                                                                 \
    int NAME(device_t device, TYPE *to) {                                                                             \
        soft_gpu *gpu;                                                                                                 \
        int ret = supported(device, &gpu, FIELD);                                                                      \
        if (!ret) *to = (EXPR);                                                                                        \
        return ret;                                                                                                    \
    }
#define NO_FIELD SOFT_FIELDS
GIVES(nvmlDeviceGetMinorNumber, unsigned, NO_FIELD, (unsigned)device->gpu)
GIVES(nvmlDeviceGetIndex, unsigned, NO_FIELD, (unsigned)device->gpu)
GIVES(nvmlDeviceGetPowerUsage, unsigned, 186, gpu->power_mw)
GIVES(nvmlDeviceGetEnforcedPowerLimit, unsigned, 189, gpu->power_limit_mw)
GIVES(nvmlDeviceGetPerformanceState, int, NO_FIELD, (int)gpu->pstate)
GIVES(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, NO_FIELD, gpu->reasons)
GIVES(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, NO_FIELD, gpu->reasons)
GIVES(nvmlDeviceGetPcieReplayCounter, unsigned, 94, (unsigned)gpu->fields[94])
GIVES(nvmlDeviceGetMaxMigDeviceCount, unsigned, NO_FIELD, SOFT_MIG)
GIVES(nvmlDeviceGetSupportedEventTypes, unsigned long long, NO_FIELD, 0x1f)
GIVES(nvmlDeviceGetGpuInstanceId, unsigned, NO_FIELD, device->mig < 0 ? 0 : gpu->mig[device->mig].gpu_instance)
GIVES(nvmlDeviceGetComputeInstanceId, unsigned, NO_FIELD, device->mig < 0 ? 0 : gpu->mig[device->mig].compute_instance)

int nvmlDeviceGetName(device_t device, char *to, unsigned size) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    return ret ? ret : text(to, size, device->mig < 0 ? gpu->name : gpu->mig[device->mig].name);
}
int nvmlDeviceGetUUID(device_t device, char *to, unsigned size) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    return ret ? ret : text(to, size, device->mig < 0 ? gpu->uuid : gpu->mig[device->mig].uuid);
}
int nvmlDeviceGetSerial(device_t device, char *to, unsigned size) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    return ret ? ret : gpu->serial[0] ? text(to, size, gpu->serial) : NOT_SUPPORTED;
}
int nvmlDeviceGetPciInfo_v3(device_t device, pci_info *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    memset(to, 0, sizeof *to);
    to->domain = gpu->domain, to->bus = gpu->bus, to->device = gpu->device, to->pci_device_id = gpu->pci_device_id;
    snprintf(to->legacy, sizeof to->legacy, "%04X:%02X:%02X.0", gpu->domain & 0xffff, gpu->bus & 0xff, gpu->device & 0xff);
    return text(to->bus_id, sizeof to->bus_id, gpu->bus_id);
}
int nvmlDeviceGetMemoryInfo(device_t device, memory_v1 *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    uint64_t total = device->mig < 0 ? gpu->memory_total : gpu->mig[device->mig].memory_total;
    uint64_t used = device->mig < 0 ? gpu->memory_used : gpu->mig[device->mig].memory_used;
    *to = (memory_v1){total, total - used, used};
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(device_t device, memory_v2 *to) {
    if (to->version != 0x02000028) return VERSION_MISMATCH;
    memory_v1 v1;
    int ret = nvmlDeviceGetMemoryInfo(device, &v1);
    if (!ret) to->total = v1.total, to->reserved = 0, to->free = v1.free, to->used = v1.used;
    return ret;
}
int nvmlDeviceGetUtilizationRates(device_t device, utilization *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    if (gpu->mig_mode || device->mig >= 0) return NOT_SUPPORTED; /* so says the real driver under MIG */
    *to = (utilization){gpu->util_gpu, gpu->util_memory};
    return OK;
}
int nvmlDeviceGetTemperature(device_t device, int sensor, unsigned *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (!ret && sensor) return INVALID_ARGUMENT;
    if (!ret) *to = gpu->temperature;
    return ret;
}
int nvmlDeviceGetTemperatureV(device_t device, temperature_v1 *to) {
    if (to->version != 0x100000C) return VERSION_MISMATCH;
    return nvmlDeviceGetTemperature(device, to->sensor, (unsigned *)&to->temperature);
}
int nvmlDeviceGetClockInfo(device_t device, int kind, unsigned *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (!ret) *to = kind == 2 ? gpu->memory_clock : gpu->sm_clock;
    return ret;
}
int nvmlDeviceGetMaxClockInfo(device_t device, int kind, unsigned *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (!ret) *to = kind == 2 ? gpu->memory_clock : gpu->sm_clock_max;
    return ret;
}
static unsigned long long ecc_total(soft_gpu *gpu, int kind, int counter) {
    unsigned long long sum = 0;
    for (int i = 0; i < 8; i++) sum += gpu->ecc[kind][counter][i];
    return sum;
}
int nvmlDeviceGetTotalEccErrors(device_t device, int kind, int counter, unsigned long long *to) {
    soft_gpu *gpu;
    int ret = supported(device, &gpu, 3);
    if (!ret && ((unsigned)kind > 1 || (unsigned)counter > 1)) return INVALID_ARGUMENT;
    if (!ret) *to = ecc_total(gpu, kind, counter);
    return ret;
}
int nvmlDeviceGetMemoryErrorCounter(device_t device, int kind, int counter, int where, unsigned long long *to) {
    soft_gpu *gpu;
    int ret = supported(device, &gpu, 3);
    if (!ret && ((unsigned)kind > 1 || (unsigned)counter > 1 || (unsigned)where > 7)) return INVALID_ARGUMENT;
    if (!ret) *to = gpu->ecc[kind][counter][where];
    return ret;
}
int nvmlDeviceGetRemappedRows(device_t device, unsigned *cor, unsigned *unc, unsigned *pending, unsigned *failure) {
    soft_gpu *gpu;
    int ret = supported(device, &gpu, 142);
    if (!ret)
        *cor = gpu->remapped_correctable, *unc = gpu->remapped_uncorrectable, *pending = gpu->remap_pending,
        *failure = gpu->remap_failure;
    return ret;
}
int nvmlDeviceGetPcieThroughput(device_t device, int counter, unsigned *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (!ret) *to = counter ? gpu->pcie_rx_kb : gpu->pcie_tx_kb;
    return ret;
}
int nvmlDeviceGetNvLinkState(device_t device, unsigned link, unsigned *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    if (link >= gpu->links) return link >= SOFT_LINKS ? INVALID_ARGUMENT : NOT_SUPPORTED;
    *to = gpu->link_up[link];
    return OK;
}
int nvmlDeviceGetFieldValues(device_t device, int count, field_value *values) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    for (int i = 0; i < count; i++) {
        field_value *v = &values[i];
        unsigned f = v->field;
        v->timestamp = (long long)time(NULL) * 1000000, v->latency = 1;
        v->value.ull = 0, v->type = 3, v->ret = OK;
        if (f >= SOFT_FIELDS || gpu->unsupported[f]) {
            v->ret = NOT_SUPPORTED;
            continue;
        }
        switch (f) {
        case 3: v->value.ull = ecc_total(gpu, 0, 0); break;
        case 4: v->value.ull = ecc_total(gpu, 1, 0); break;
        case 5: v->value.ull = ecc_total(gpu, 0, 1); break;
        case 6: v->value.ull = ecc_total(gpu, 1, 1); break;
        case 29: v->value.ull = gpu->retired_sbe; break;
        case 30: v->value.ull = gpu->retired_dbe; break;
        case 82: v->type = 1, v->value.ui = gpu->memory_temperature; break;
        case 91: v->type = 1, v->value.ui = gpu->links; break;
        case 142: v->type = 1, v->value.ui = gpu->remapped_correctable; break;
        case 143: v->type = 1, v->value.ui = gpu->remapped_uncorrectable; break;
        case 144: v->type = 1, v->value.ui = gpu->remap_pending; break;
        case 145: v->type = 1, v->value.ui = gpu->remap_failure; break;
        case 186: v->type = 1, v->value.ui = gpu->power_mw; break;
        case 230: v->type = 1, v->value.ui = gpu->recovery_action; break;
        default: v->value.ull = gpu->fields[f];
        }
    }
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(device_t device, unsigned *count, process_info *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    unsigned room = *count, n = 0;
    for (unsigned i = 0; i < gpu->processes && i < SOFT_PROCESSES; i++) {
        soft_process *p = &gpu->process[i];
        if (device->mig >= 0 && p->gpu_instance != gpu->mig[device->mig].gpu_instance) continue;
        if (to && n < room) to[n] = (process_info){p->pid, p->memory, p->gpu_instance, p->compute_instance};
        n++;
    }
    *count = n;
    return n > room ? INSUFFICIENT_SIZE : OK;
}
int nvmlDeviceGetViolationStatus(device_t device, int policy, violation_time *to) {
    soft_gpu *gpu;
    int ret = supported(device, &gpu, 74 + (unsigned)policy);
    if (!ret) *to = (violation_time){(unsigned long long)time(NULL) * 1000000, gpu->fields[74 + policy]};
    return ret;
}

/* Whoever brings no room is told how many are newer; none is NOT_FOUND, as nvml.h has it. */
int nvmlDeviceGetSamples(device_t device, int kind, unsigned long long seen, int *type, unsigned *count, sample_t *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    if (kind < 0 || kind >= SOFT_KINDS || !type || !count || (to && !*count)) return INVALID_ARGUMENT;
    if (device->mig >= 0 || (gpu->mig_mode && (kind == 1 || kind == 2))) return NOT_SUPPORTED;
    soft_samples *kept = &gpu->samples[kind];
    if (kept->error) return (int)kept->error;
    unsigned room = *count, n = 0;
    for (unsigned i = 0; i < kept->count && i < SOFT_SAMPLES; i++) {
        if (kept->at[i] && kept->at[i] <= seen) continue; /* a slot that was never filled has no time */
        if (to && n == room) break;
        if (to) {
            to[n].timestamp = kept->at[i], to[n].value.ull = kept->value[i];
            if (kept->type == 0) to[n].value.d = (double)kept->value[i];
        }
        n++;
    }
    *type = (int)kept->type, *count = n;
    if (to) kept->asked++;
    return n ? OK : NOT_FOUND;
}

int nvmlDeviceGetMigMode(device_t device, unsigned *current, unsigned *pending) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (!ret) *current = *pending = gpu->mig_mode;
    return ret;
}
int nvmlDeviceGetMigDeviceHandleByIndex(device_t device, unsigned index, device_t *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    if (index >= SOFT_MIG) return INVALID_ARGUMENT;
    if (!gpu->mig_mode || index >= gpu->migs) return NOT_FOUND;
    *to = &devices[device->gpu][index + 1];
    return OK;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device_t device, device_t *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (!ret) *to = &devices[device->gpu][0];
    return ret;
}
int nvmlDeviceGetAttributes_v2(device_t device, attributes *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    if (device->mig < 0) return INVALID_ARGUMENT;
    memset(to, 0, sizeof *to);
    to->gpu_slices = gpu->mig[device->mig].slices;
    to->memory_mb = gpu->mig[device->mig].memory_total >> 20;
    return OK;
}

int nvmlGpmQueryDeviceSupport(device_t device, gpm_support *to) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (!ret && to->version != 1) return VERSION_MISMATCH;
    if (!ret) to->supported = gpu->gpm_supported;
    return ret;
}
int nvmlGpmSampleAlloc(gpm_sample *to) {
    *to = calloc(1, sizeof **to);
    return *to ? OK : 20;
}
int nvmlGpmSampleFree(gpm_sample sample) {
    free(sample);
    return OK;
}
static int sampled(device_t device, int mig, gpm_sample sample) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    if (!gpu->gpm_supported) return NOT_SUPPORTED;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sample->at = (double)now.tv_sec + (double)now.tv_nsec * 1e-9, sample->gpu = device->gpu + 1, sample->mig = mig;
    return OK;
}
int nvmlGpmSampleGet(device_t device, gpm_sample sample) { return sampled(device, -1, sample); }
int nvmlGpmMigSampleGet(device_t device, unsigned instance, gpm_sample sample) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    for (unsigned i = 0; !ret && i < gpu->migs; i++)
        if (gpu->mig[i].gpu_instance == instance) return sampled(device, (int)i, sample);
    return ret ? ret : NOT_FOUND;
}
int nvmlGpmMetricsGet(gpm_get *get) {
    soft_state *s;
    int ret = ready(&s);
    if (ret) return ret;
    if (get->version != 1) return VERSION_MISMATCH;
    gpm_sample a = get->first, b = get->second;
    if (!a || !b || !a->gpu || a->gpu != b->gpu || a->mig != b->mig || b->at <= a->at) return INVALID_ARGUMENT;
    soft_gpu *gpu = &s->gpu[a->gpu - 1];
    for (unsigned i = 0; i < get->count; i++) {
        gpm_metric *m = &get->metrics[i];
        m->ret = m->id < SOFT_METRICS ? OK : NOT_SUPPORTED;
        if (!m->ret) m->value = a->mig < 0 ? gpu->gpm[m->id] : gpu->mig[a->mig].gpm[m->id];
    }
    return gpu->error;
}

int nvmlEventSetCreate(event_set *to) {
    soft_state *s;
    int ret = ready(&s);
    if (!ret) *to = calloc(1, sizeof **to);
    return ret;
}
int nvmlEventSetFree(event_set set) {
    free(set);
    return OK;
}
int nvmlDeviceRegisterEvents(device_t device, unsigned long long types, event_set set) {
    soft_gpu *gpu;
    int ret = found(device, &gpu);
    if (ret) return ret;
    set->types[device->gpu] |= types;
    set->seen[device->gpu] = __atomic_load_n(&gpu->events, __ATOMIC_ACQUIRE);
    return OK;
}
int nvmlEventSetWait_v2(event_set set, event_data *to, unsigned timeout_ms) {
    for (unsigned waited = 0;; waited++) {
        soft_state *s;
        int ret = ready(&s);
        if (ret) return ret;
        for (unsigned g = 0; g < s->gpus; g++) {
            soft_gpu *gpu = &s->gpu[g];
            while (set->types[g] && set->seen[g] != __atomic_load_n(&gpu->events, __ATOMIC_ACQUIRE)) {
                soft_event *e = &gpu->event[set->seen[g]++ % SOFT_EVENTS];
                if (!(e->type & set->types[g])) continue;
                *to = (event_data){&devices[g][0], e->type, e->data, e->gpu_instance, e->compute_instance};
                return OK;
            }
        }
        if (waited >= timeout_ms) return TIMEOUT;
        usleep(1000);
    }
}
