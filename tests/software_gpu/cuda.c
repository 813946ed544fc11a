/* libcuda.so.1 of machines without a GPU: the driver's real symbols, signatures and return codes; nothing is computed.
   Every call succeeds at once, but for the end of a stream or event: while the file that INQUEST_SOFTWARE_GPU_HELD names
   exists, none is finished. */
#include <stdlib.h>
#include <unistd.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef void *handle;
typedef struct { unsigned grid[3], block[3], shared; handle stream; void *attributes; unsigned count; } CUlaunchConfig;
enum { OK = 0, NOT_READY = 600 };
#define U __attribute__((unused))

/* Something to do, different in each: else the compiler makes one function of several. */
static volatile unsigned long long work;
#define DONE { work += __LINE__; return OK; }

static int held(void) {
    const char *path = getenv("INQUEST_SOFTWARE_GPU_HELD");
    return path && access(path, F_OK) == 0;
}

CUresult cuInit(U unsigned flags) DONE
CUresult cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal ? 101 : OK;
}
CUresult cuCtxSetCurrent(U handle ctx) DONE
CUresult cuModuleLoadData(handle *module, U const void *image) {
    *module = (handle)&work;
    return OK;
}
CUresult cuModuleGetFunction(handle *function, handle module, U const char *name) {
    *function = module;
    return OK;
}
CUresult cuCtxCreate_v2(handle *ctx, U unsigned flags, U int device) {
    *ctx = (handle)&work;
    return OK;
}
CUresult cuDevicePrimaryCtxRetain(handle *ctx, U int device) {
    *ctx = (handle)&work;
    return OK;
}
CUresult cuLaunchKernel(U handle f, U unsigned gx, U unsigned gy, U unsigned gz, U unsigned bx, U unsigned by, U unsigned bz,
                        U unsigned shared, U handle stream, U void **params, U void **extra) DONE
CUresult cuLaunchKernelEx(U const CUlaunchConfig *config, U handle f, U void **params, U void **extra) DONE
CUresult cuLaunchCooperativeKernel(U handle f, U unsigned gx, U unsigned gy, U unsigned gz, U unsigned bx, U unsigned by,
                                   U unsigned bz, U unsigned shared, U handle stream, U void **params) DONE
CUresult cuGraphLaunch(U handle graph, U handle stream) DONE
CUresult cuMemAlloc_v2(CUdeviceptr *to, U size_t bytes) {
    *to = 0x7f0000000000ull;
    return OK;
}
#ifdef REFUSED
/* Begins with an instruction that the kernel lets nobody probe. */
__attribute__((naked)) CUresult cuMemFree_v2(U CUdeviceptr p) { __asm__("lock; addq $0, (%rsp); xor %eax, %eax; ret"); }
#else
CUresult cuMemFree_v2(U CUdeviceptr p) DONE
#endif
CUresult cuMemcpyHtoD_v2(U CUdeviceptr to, U const void *from, U size_t bytes) DONE
CUresult cuMemcpyDtoH_v2(U void *to, U CUdeviceptr from, U size_t bytes) DONE
CUresult cuMemcpyDtoD_v2(U CUdeviceptr to, U CUdeviceptr from, U size_t bytes) DONE
CUresult cuMemcpyHtoDAsync_v2(U CUdeviceptr to, U const void *from, U size_t bytes, U handle stream) DONE
CUresult cuMemcpyDtoHAsync_v2(U void *to, U CUdeviceptr from, U size_t bytes, U handle stream) DONE
CUresult cuMemcpyDtoDAsync_v2(U CUdeviceptr to, U CUdeviceptr from, U size_t bytes, U handle stream) DONE
CUresult cuMemcpyPeerAsync(U CUdeviceptr to, U handle toc, U CUdeviceptr from, U handle fromc, U size_t bytes, U handle s) DONE
CUresult cuEventRecord(U handle event, U handle stream) DONE
CUresult cuEventQuery(U handle event) { return held() ? NOT_READY : OK; }
CUresult cuStreamQuery(U handle stream) { return held() ? NOT_READY : OK; }
CUresult cuEventSynchronize(U handle event) {
    while (held()) usleep(1000);
    return OK;
}
CUresult cuStreamSynchronize(U handle stream) {
    usleep(1000);
    while (held()) usleep(1000);
    return OK;
}
CUresult cuCtxSynchronize(void) DONE
