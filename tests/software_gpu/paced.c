/* A rank that trains: paced RATE SECONDS. RATE launches a second, with a collective and its event ten times a second; with a
   RATE of 0 it launches as fast as it can. Prints how many launches it made and what CPU time that took. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef struct { char internal[128]; } ncclUniqueId;
int cuCtxCreate_v2(void **, unsigned, int);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuEventRecord(void *, void *);
int cuEventQuery(void *);
int ncclGetUniqueId(ncclUniqueId *);
int ncclCommInitRank(void **, int, ncclUniqueId, int);
int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double spent(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_utime.tv_sec + r.ru_stime.tv_sec + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv) {
    long rate = argc > 1 ? atol(argv[1]) : 100, made = 0, beats = 0;
    double seconds = argc > 2 ? atof(argv[2]) : 1e9;
    void *ctx, *comm = 0, *stream = &ctx, *event = &comm;
    ncclUniqueId id;
    const char *rank = getenv("SLURM_PROCID");
    cuCtxCreate_v2(&ctx, 0, 0);
    ncclGetUniqueId(&id);
    if (ncclCommInitRank(&comm, 4096, id, rank ? atoi(rank) : 0)) return 4;
    sleep(argc > 3 ? atoi(argv[3]) : 0); /* time for somebody to find us */
    double begun = now(), cpu = spent();
    while (now() - begun < seconds) {
        if (rate) usleep(rate >= 1000 ? 1000 : 100000);
        long due = rate ? (long)((now() - begun) * rate) : made + 1000;
        for (; made < due; made++) cuLaunchKernel(0, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0);
        if ((long)((now() - begun) * 10) > beats) {
            beats++;
            ncclAllReduce(0, 0, 1000, 7, 0, comm, stream);
            cuEventRecord(event, stream);
            cuEventQuery(event);
        }
    }
    printf("%ld %.6f\n", made, spent() - cpu);
    return 0;
}
