// What each process asks of the CUDA driver: counted here, one entry a process, never one event a launch.
#include <uapi/linux/ptrace.h>

struct calls_t { u64 launches, graphs, h2d, d2h, d2d, api_ns, sync_ns, last_ns, gap_ns, others; u32 epoch, attached; };
struct begun_t { u64 at; u32 sync, pad; };

BPF_HASH(calls, u32, struct calls_t, 8192);
BPF_TABLE("lru_hash", u64, struct begun_t, begun, 16384);
// The number of the present interval: a gap of an earlier one is forgotten by the first launch of this one.
BPF_ARRAY(epoch, u32, 1);

static __always_inline struct calls_t *mine(void) {
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct calls_t *c = calls.lookup(&pid), fresh = {};
    if (c) return c;
    calls.insert(&pid, &fresh);
    return calls.lookup(&pid);
}

static __always_inline void launched(struct calls_t *c) {
    u64 now = bpf_ktime_get_ns(), last = c->last_ns;
    int zero = 0;
    u32 *e = epoch.lookup(&zero);
    if (e && c->epoch != *e) {
        c->epoch = *e;
        c->gap_ns = 0;
    }
    if (last && now > last && now - last > c->gap_ns) c->gap_ns = now - last;
    c->last_ns = now;
}

static __always_inline void enter(u32 sync) {
    u64 id = bpf_get_current_pid_tgid();
    struct begun_t b = {};
    b.at = bpf_ktime_get_ns();
    b.sync = sync;
    begun.update(&id, &b);
}

int launch(struct pt_regs *ctx) {
    struct calls_t *c = mine();
    if (!c) return 0;
    __sync_fetch_and_add(&c->launches, 1);
    launched(c);
    return 0;
}

int graph(struct pt_regs *ctx) {
    struct calls_t *c = mine();
    if (!c) return 0;
    __sync_fetch_and_add(&c->graphs, 1);
    launched(c);
    enter(0);
    return 0;
}

int call(struct pt_regs *ctx) {
    enter(0);
    return 0;
}

int sync(struct pt_regs *ctx) {
    enter(1);
    return 0;
}

// (destination, source, bytes, ...)
#define COPY(NAME, FIELD, ARG)                                              \
    int NAME(struct pt_regs *ctx) {                                        \
        struct calls_t *c = mine();                                        \
        if (c) __sync_fetch_and_add(&c->FIELD, (u64)PT_REGS_PARM##ARG(ctx)); \
        enter(0);                                                          \
        return 0;                                                          \
    }
COPY(copy_h2d, h2d, 3)
COPY(copy_d2h, d2h, 3)
COPY(copy_d2d, d2d, 3)
COPY(copy_peer, d2d, 5)

int leave(struct pt_regs *ctx) {
    u64 id = bpf_get_current_pid_tgid();
    struct begun_t *b = begun.lookup(&id);
    if (!b) return 0;
    struct calls_t *c = mine();
    if (c) {
        u64 took = bpf_ktime_get_ns() - b->at;
        __sync_fetch_and_add(&c->api_ns, took);
        __sync_fetch_and_add(&c->others, 1);
        if (b->sync) __sync_fetch_and_add(&c->sync_ns, took);
    }
    begun.delete(&id);
    return 0;
}

int attached(struct pt_regs *ctx) {
    struct calls_t *c = PT_REGS_RC(ctx) == 0 ? mine() : 0;
    if (c) c->attached = 1;
    return 0;
}
