// What each process asks of NCCL, by communicator; and how far it is done, as far as the host can see: an event that was
// recorded on the stream behind a collective has been found finished, or somebody waited for that stream.
#include <uapi/linux/ptrace.h>

struct comm_key_t { u64 comm; u32 pid, pad; };
struct comm_t { u64 id, seq, done; u32 size; s32 rank; u32 ends, closed, parted, pad; };
struct kind_key_t { u64 comm; u32 pid, kind; };
struct kind_t { u64 count, bytes; };
struct handle_t { u64 handle; u32 pid, pad; };
struct mark_t { u64 comm, seq; };
struct init_t { u64 out, id; u32 size; s32 rank; };
struct waits_t { u64 handle; u32 stream, pad; };

BPF_HASH(comms, struct comm_key_t, struct comm_t, 16384);
BPF_HASH(kinds, struct kind_key_t, struct kind_t, 65536);
BPF_TABLE("lru_hash", struct handle_t, struct mark_t, streams, 16384);
BPF_TABLE("lru_hash", struct handle_t, struct mark_t, ends, 65536);
BPF_TABLE("lru_hash", u64, struct init_t, starting, 4096);
BPF_TABLE("lru_hash", u64, struct waits_t, waiting, 16384);

#if defined(__aarch64__)
#define ARG7(ctx) ((ctx)->regs[6])
#define ARG8(ctx) ((ctx)->regs[7])
#else
static __always_inline u64 stacked(struct pt_regs *ctx, u32 place) {
    u64 value = 0;
    bpf_probe_read_user(&value, sizeof(value), (void *)(PT_REGS_SP(ctx) + 8 * place));
    return value;
}
#define ARG7(ctx) stacked(ctx, 1)
#define ARG8(ctx) stacked(ctx, 2)
#endif

static __always_inline u64 width(u64 type) {
    if (type <= 1 || type >= 10) return 1;
    if (type <= 3 || type == 7) return 4;
    if (type == 6 || type == 9) return 2;
    return 8;
}

static __always_inline void enqueued(u32 kind, u64 count, u64 type, u64 comm, u64 stream) {
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct comm_key_t ck = {.comm = comm, .pid = pid};
    struct comm_t *c = comms.lookup(&ck), unknown = {.rank = -1};
    if (!c) {
        comms.insert(&ck, &unknown);
        c = comms.lookup(&ck);
        if (!c) return;
    }
    c->seq += 1;  // NCCL lets one thread at a time use a communicator
    struct kind_key_t kk = {.comm = comm, .pid = pid, .kind = kind};
    struct kind_t *k = kinds.lookup(&kk), none = {};
    if (!k) {
        kinds.insert(&kk, &none);
        k = kinds.lookup(&kk);
    }
    if (k) {
        __sync_fetch_and_add(&k->count, 1);
        __sync_fetch_and_add(&k->bytes, count * width(type));
    }
    struct handle_t h = {.handle = stream, .pid = pid};
    struct mark_t m = {.comm = comm, .seq = c->seq};
    streams.update(&h, &m);
}

#define COLLECTIVE(NAME, KIND, COUNT, TYPE, COMM, STREAM)     \
    int NAME(struct pt_regs *ctx) {                            \
        enqueued(KIND, COUNT, TYPE, COMM, STREAM);             \
        return 0;                                              \
    }
#define P(N) PT_REGS_PARM##N(ctx)
COLLECTIVE(all_reduce, 1, P(3), P(4), P(6), ARG7(ctx))
COLLECTIVE(broadcast, 2, P(3), P(4), P(6), ARG7(ctx))
COLLECTIVE(reduce, 3, P(3), P(4), ARG7(ctx), ARG8(ctx))
COLLECTIVE(all_gather, 4, P(3), P(4), P(5), P(6))
COLLECTIVE(reduce_scatter, 5, P(3), P(4), P(6), ARG7(ctx))
COLLECTIVE(all_to_all, 6, P(3), P(4), P(5), P(6))
COLLECTIVE(gather, 7, P(3), P(4), P(6), ARG7(ctx))
COLLECTIVE(scatter, 8, P(3), P(4), P(6), ARG7(ctx))
COLLECTIVE(send, 9, P(2), P(3), P(5), P(6))
COLLECTIVE(recv, 10, P(2), P(3), P(5), P(6))

// What names a communicator on all of its ranks: the hash of its unique id of 128 bytes.
static __always_inline void begun(u64 out, u32 size, s32 rank, u64 unique) {
    u64 task = bpf_get_current_pid_tgid(), words[16] = {}, id = 14695981039346656037ULL;
    struct init_t start = {.out = out, .size = size, .rank = rank};
    bpf_probe_read_user(&words, sizeof(words), (void *)unique);
#pragma unroll
    for (int i = 0; i < 16; i++) id = (id ^ words[i]) * 1099511628211ULL;
    start.id = id;
    starting.update(&task, &start);
}

// ncclCommInitRank(comm *, size, unique id by value, rank): a copy in memory for arm64, on the stack for x86-64
int init(struct pt_regs *ctx) {
#if defined(__aarch64__)
    begun(P(1), P(2), P(4), P(3));
#else
    begun(P(1), P(2), P(3), PT_REGS_SP(ctx) + 8);
#endif
    return 0;
}

// ncclCommInitRankScalable(comm *, size, rank, ids, unique ids *, config): PyTorch's choice beyond 128 ranks.
int scalable(struct pt_regs *ctx) {
    begun(P(1), P(2), P(3), P(5));
    return 0;
}

// What NCCL makes of a communicator is named after it: all of its ranks part it in the same order, and those of one colour
// get the same part. Its size and rank are NCCL's to decide and not told here.
static __always_inline void parted(u64 parent, u64 colour, u64 out) {
    u64 task = bpf_get_current_pid_tgid();
    struct init_t start = {.out = out, .rank = -1};
    struct comm_key_t key = {.comm = parent, .pid = task >> 32};
    struct comm_t *c = comms.lookup(&key);
    if (c && c->id) {
        c->parted += 1;
        start.id = ((c->id ^ c->parted) * 1099511628211ULL ^ colour) * 1099511628211ULL;
    }
    starting.update(&task, &start);
}

// ncclCommSplit(parent, colour, key, comm *, config)
int split(struct pt_regs *ctx) {
    parted(P(1), (u32)P(2), P(4));
    return 0;
}

// ncclCommShrink(parent, ranks left out, their number, comm *, config, flags): who is left out does not call it.
int shrunk(struct pt_regs *ctx) {
    parted(P(1), 1ULL << 32, P(4));
    return 0;
}

int init_done(struct pt_regs *ctx) {
    u64 task = bpf_get_current_pid_tgid();
    struct init_t *start = starting.lookup(&task);
    if (!start) return 0;
    u64 rc = PT_REGS_RC(ctx);
    struct comm_key_t key = {.pid = task >> 32};
    struct comm_t fresh = {.id = start->id, .size = start->size, .rank = start->rank};
    // 7 is "in progress" of a non-blocking communicator; its handle is written at once.
    if (((u32)rc == 0 || (u32)rc == 7) && !bpf_probe_read_user(&key.comm, sizeof(key.comm), (void *)start->out) && key.comm)
        comms.update(&key, &fresh);
    starting.delete(&task);
    return 0;
}

int closed(struct pt_regs *ctx) {
    struct comm_key_t key = {.comm = P(1), .pid = bpf_get_current_pid_tgid() >> 32};
    struct comm_t *c = comms.lookup(&key);
    if (c) c->closed = 1;
    return 0;
}

// cuEventRecord(event, stream)
int recorded(struct pt_regs *ctx) {
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct handle_t event = {.handle = P(1), .pid = pid}, stream = {.handle = P(2), .pid = pid};
    struct mark_t *m = streams.lookup(&stream);
    if (!m) {
        ends.delete(&event);
        return 0;
    }
    struct mark_t copy = *m;
    ends.update(&event, &copy);
    // From here on there is an end to be seen: a collective that shows none is open, not unknown.
    struct comm_key_t key = {.comm = copy.comm, .pid = pid};
    struct comm_t *c = comms.lookup(&key);
    if (c) c->ends = 1;
    return 0;
}

int event_asked(struct pt_regs *ctx) {
    u64 task = bpf_get_current_pid_tgid();
    struct waits_t w = {.handle = P(1)};
    waiting.update(&task, &w);
    return 0;
}

int stream_asked(struct pt_regs *ctx) {
    u64 task = bpf_get_current_pid_tgid();
    struct waits_t w = {.handle = P(1), .stream = 1};
    waiting.update(&task, &w);
    // Who waits for a stream would have returned if it were done: the communicator's end can be seen.
    struct handle_t h = {.handle = P(1), .pid = task >> 32};
    struct mark_t *m = streams.lookup(&h);
    if (!m) return 0;
    struct comm_key_t key = {.comm = m->comm, .pid = task >> 32};
    struct comm_t *c = comms.lookup(&key);
    if (c) c->ends = 1;
    return 0;
}

int finished(struct pt_regs *ctx) {
    u64 task = bpf_get_current_pid_tgid();
    struct waits_t *w = waiting.lookup(&task);
    if (!w) return 0;
    struct handle_t h = {.handle = w->handle, .pid = task >> 32};
    u32 stream = w->stream;
    waiting.delete(&task);
    if ((u32)PT_REGS_RC(ctx)) return 0;
    struct mark_t *m = stream ? streams.lookup(&h) : ends.lookup(&h);
    if (!m) return 0;
    u64 seq = m->seq;
    struct comm_key_t key = {.comm = m->comm, .pid = task >> 32};
    struct comm_t *c = comms.lookup(&key);
    if (c && seq > c->done) c->done = seq;
    return 0;
}
