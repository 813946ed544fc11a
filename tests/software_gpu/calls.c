/* A program that makes exactly so many calls: calls LAUNCHES ROUNDS [SLEEP_MS]. It waits for a line on its standard input,
   makes them, prints a line and waits for the end of its input. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct { char internal[128]; } ncclUniqueId;
int cuCtxCreate_v2(void **, unsigned, int);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLaunchKernelEx(void *, void *, void **, void **);
int cuGraphLaunch(void *, void *);
int cuMemcpyHtoDAsync_v2(unsigned long long, const void *, size_t, void *);
int cuMemcpyDtoHAsync_v2(void *, unsigned long long, size_t, void *);
int cuEventRecord(void *, void *);
int cuEventQuery(void *);
int cuStreamSynchronize(void *);
int ncclGetUniqueId(ncclUniqueId *);
int ncclCommInitRank(void **, int, ncclUniqueId, int);
int ncclCommInitRankScalable(void **, int, int, int, ncclUniqueId *, void *);
int ncclCommSplit(void *, int, int, void **, void *);
int ncclCommShrink(void *, int *, int, void **, void *, int);
int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *);
int ncclAllGather(const void *, void *, size_t, int, void *, void *);

int main(int argc, char **argv) {
    long launches = argc > 1 ? atol(argv[1]) : 0, rounds = argc > 2 ? atol(argv[2]) : 0;
    int gap_ms = argc > 3 ? atoi(argv[3]) : 0, here = 0;
    char line[64];
    void *ctx, *comm = 0, *stream = &here, *event = line;
    if (!fgets(line, sizeof line, stdin)) return 3;
    const char *rank = getenv("SLURM_PROCID");
    ncclUniqueId id;
    int mine = rank ? atoi(rank) : 0;
    cuCtxCreate_v2(&ctx, 0, 0);
    ncclGetUniqueId(&id);
    if (getenv("CALLS_SCALABLE") ? ncclCommInitRankScalable(&comm, 8, mine, 1, &id, 0) : ncclCommInitRank(&comm, 8, id, mine))
        return 4;
    if (getenv("CALLS_PARTED")) { /* two parts by colour, nothing for the others, and a smaller one: one collective each */
        void *part = 0;
        ncclCommSplit(comm, mine % 2, mine, &part, 0);
        ncclAllReduce(0, 0, 100, 7, 0, part, stream);
        ncclCommSplit(comm, mine < 4 ? 0 : -1, mine, &part, 0);
        if (part) ncclAllReduce(0, 0, 10, 7, 0, part, stream);
        ncclCommShrink(comm, &here, 1, &part, 0, 0);
        ncclAllReduce(0, 0, 1, 7, 0, part, stream);
    }
    for (long i = 0; i < launches; i++) cuLaunchKernel(0, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0);
    if (gap_ms) usleep(gap_ms * 1000);
    cuLaunchKernelEx(0, 0, 0, 0);
    for (long i = 0; i < rounds; i++) {
        cuGraphLaunch(0, stream);
        cuMemcpyHtoDAsync_v2(0, line, 4096, stream);
        cuMemcpyDtoHAsync_v2(line, 0, 512, stream);
        ncclAllReduce(0, 0, 1000, 7, 0, comm, stream);
        if (i % 2) ncclAllGather(0, 0, 300, 9, comm, stream);
    }
    cuEventRecord(event, stream);
    ncclAllReduce(0, 0, 1000, 7, 0, comm, stream);
    cuEventQuery(event);
    if (argc > 4) cuStreamSynchronize(stream);
    printf("made %ld launches\n", launches);
    fprintf(stderr, "rank %s is done; no end of line", rank ? rank : "?");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin));
    return argc > 5 ? atoi(argv[5]) : 0;
}
