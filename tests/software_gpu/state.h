/* The state of the software GPUs: one file that a test maps and writes, and that every process with the library reads.
   tests/software_gpu/driver.py mirrors it; the two compare their sizes. */
#ifndef SOFTWARE_GPU_STATE_H
#define SOFTWARE_GPU_STATE_H
#include <stdint.h>

#define SOFT_MAGIC 0x53475055u
#define SOFT_GPUS 16
#define SOFT_EVENTS 64
#define SOFT_PROCESSES 64
#define SOFT_MIG 7
#define SOFT_LINKS 18
#define SOFT_FIELDS 320
#define SOFT_METRICS 128
#define SOFT_KINDS 10
#define SOFT_SAMPLES 512

typedef struct {
    uint32_t pid, gpu_instance, compute_instance, pad;
    uint64_t memory;
} soft_process;

typedef struct {
    uint64_t type, data;
    uint32_t gpu_instance, compute_instance;
} soft_event;

/* A buffer of nvmlDeviceGetSamples. */
typedef struct {
    uint32_t count;
    uint32_t type;  /* of the values, nvmlValueType_t */
    uint32_t error; /* what asking for it returns; 0 for none */
    uint32_t asked; /* how often it was read */
    uint64_t at[SOFT_SAMPLES], value[SOFT_SAMPLES];
} soft_samples;

typedef struct {
    char uuid[96], name[96];
    uint32_t gpu_instance, compute_instance, slices, pad;
    uint64_t memory_total, memory_used;
    double gpm[SOFT_METRICS];
} soft_mig;

typedef struct {
    char name[96], uuid[96], serial[32], bus_id[32];
    uint32_t domain, bus, device, pci_device_id;
    uint64_t memory_total, memory_used;
    uint32_t util_gpu, util_memory, temperature, memory_temperature;
    uint32_t power_mw, power_limit_mw, sm_clock, memory_clock, sm_clock_max, pstate;
    uint64_t reasons;
    uint64_t ecc[2][2][8]; /* corrected or not; volatile or aggregate; by location */
    uint32_t remapped_correctable, remapped_uncorrectable, remap_pending, remap_failure;
    uint32_t retired_sbe, retired_dbe;
    uint32_t links, link_up[SOFT_LINKS];
    uint32_t pcie_tx_kb, pcie_rx_kb;
    uint32_t recovery_action;
    uint64_t fields[SOFT_FIELDS];      /* values of fields that have no home above */
    uint8_t unsupported[SOFT_FIELDS];  /* such a field, or the call that gives the same, is not supported */
    uint32_t gpm_supported;
    double gpm[SOFT_METRICS];
    uint32_t processes;
    soft_process process[SOFT_PROCESSES];
    uint32_t mig_mode, migs;
    soft_mig mig[SOFT_MIG];
    uint32_t error;  /* what every call for this GPU returns; 0 for none */
    uint32_t hang_ms; /* every call for this GPU takes so long */
    uint32_t events; /* how many there ever were */
    uint32_t pad;
    soft_event event[SOFT_EVENTS];
    soft_samples samples[SOFT_KINDS];
} soft_gpu;

typedef struct {
    uint32_t magic, size;
    uint32_t loaded;     /* is the driver there */
    uint32_t generation; /* counts its loads: whoever initialised under an older one has to do it again */
    uint32_t gpus, pad;
    uint64_t calls;
    char driver_version[80], nvml_version[80];
    soft_gpu gpu[SOFT_GPUS];
} soft_state;

soft_state *soft_map(void); /* the state, or NULL when there is none */
#endif
