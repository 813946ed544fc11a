/* libnccl.so.2 of machines without a GPU: NCCL's real symbols and signatures; no data move. */
#include <stdlib.h>

typedef int ncclResult_t;
typedef struct { char internal[128]; } ncclUniqueId;
typedef struct ncclComm { int size, rank; } *ncclComm_t;
typedef void *stream_t;
enum { OK = 0, INVALID_ARGUMENT = 4 };
#define U __attribute__((unused))

static volatile unsigned long long work;
#define DONE { work += __LINE__; return OK; }

ncclResult_t ncclGetVersion(int *version) {
    *version = 22105;
    return OK;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    for (int i = 0; i < 128; i++) id->internal[i] = (char)(7 * i);
    return OK;
}
__attribute__((visibility("hidden"))) int made(ncclComm_t *comm, int size, int rank) {
    if (rank < 0 || rank >= size) return INVALID_ARGUMENT;
    *comm = malloc(sizeof **comm);
    **comm = (struct ncclComm){size, rank};
    return OK;
}
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int size, U ncclUniqueId id, int rank) {
    return made(comm, size, rank);
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int size, U ncclUniqueId id, int rank, U void *config) {
    return made(comm, size, rank);
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int size, int rank, int n, U ncclUniqueId *ids, U void *config) {
    return n < 1 ? INVALID_ARGUMENT : made(comm, size, rank);
}
ncclResult_t ncclCommSplit(U ncclComm_t comm, int color, int key, ncclComm_t *to, U void *config) {
    *to = 0;
    return color < 0 ? OK : made(to, key + 1, key);
}
ncclResult_t ncclCommShrink(U ncclComm_t comm, U int *out, U int n, ncclComm_t *to, U void *config, U int flags) {
    return made(to, 1, 0);
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    free(comm);
    return OK;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }
ncclResult_t ncclCommCount(ncclComm_t comm, int *count) {
    *count = comm->size;
    return OK;
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank) {
    *rank = comm->rank;
    return OK;
}
ncclResult_t ncclGroupStart(void) DONE
ncclResult_t ncclGroupEnd(void) DONE
ncclResult_t ncclAllReduce(U const void *s, U void *r, U size_t n, U int type, U int op, U ncclComm_t c, U stream_t t) DONE
ncclResult_t ncclBroadcast(U const void *s, U void *r, U size_t n, U int type, U int root, U ncclComm_t c, U stream_t t) DONE
ncclResult_t ncclBcast(void *b, size_t n, int type, int root, ncclComm_t c, stream_t t) {
    return ncclBroadcast(b, b, n, type, root, c, t); /* as the real one does */
}
ncclResult_t ncclReduce(U const void *s, U void *r, U size_t n, U int type, U int op, U int root, U ncclComm_t c, U stream_t t) DONE
ncclResult_t ncclAllGather(U const void *s, U void *r, U size_t n, U int type, U ncclComm_t c, U stream_t t) DONE
ncclResult_t ncclReduceScatter(U const void *s, U void *r, U size_t n, U int type, U int op, U ncclComm_t c, U stream_t t) DONE
ncclResult_t ncclSend(U const void *b, U size_t n, U int type, U int peer, U ncclComm_t c, U stream_t t) DONE
ncclResult_t ncclRecv(U void *b, U size_t n, U int type, U int peer, U ncclComm_t c, U stream_t t) DONE
