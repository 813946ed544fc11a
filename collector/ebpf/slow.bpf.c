// Calls on files and requests of block devices that took longer than a bound: counted by process, call and descriptor. A call
// that is quick leaves nothing behind but its begin.
#include <uapi/linux/ptrace.h>

struct watch_t { u32 root, left; s32 code; u32 signal, sender, uid, oom, pad; u64 born; char sender_comm[16]; };
struct begun_t { u64 at, path; u32 call; s32 fd; };
struct slow_key_t { u32 pid, call; s32 fd; u32 pad; };
struct slow_t { u64 count, ns, max_ns; char path[104]; };
struct request_t { u64 sector; u32 dev, pad; };
struct issued_t { u64 at; u32 pid, pad; };
enum { C_READ = 1, C_WRITE = 2, C_SYNC = 3, C_OPEN = 4, C_STAT = 5, C_BLOCK = 6 };

BPF_TABLE("extern", u32, struct watch_t, watched, 16384);
BPF_TABLE("lru_hash", u64, struct begun_t, begun, 16384);
BPF_TABLE("lru_hash", struct request_t, struct issued_t, issued, 16384);
BPF_HASH(slow, struct slow_key_t, struct slow_t, 4096);
// Nanoseconds: of a call, of a request.
BPF_ARRAY(bounds, u64, 2);

static __always_inline int enter(u32 call, s32 fd, u64 path) {
    u64 task = bpf_get_current_pid_tgid();
    u32 pid = task >> 32;
    if (!watched.lookup(&pid)) return 0;
    struct begun_t b = {.at = bpf_ktime_get_ns(), .path = path, .call = call, .fd = fd};
    begun.update(&task, &b);
    return 0;
}

static __always_inline struct slow_t *entry(struct slow_key_t *key, u64 ns) {
    struct slow_t *s = slow.lookup(key), fresh = {};
    if (!s) {
        slow.insert(key, &fresh);
        s = slow.lookup(key);
        if (!s) return 0;
    }
    __sync_fetch_and_add(&s->count, 1);
    __sync_fetch_and_add(&s->ns, ns);
    if (ns > s->max_ns) s->max_ns = ns;
    return s;
}

static __always_inline int leave(void) {
    u64 task = bpf_get_current_pid_tgid();
    struct begun_t *b = begun.lookup(&task);
    if (!b) return 0;
    int zero = 0;
    u64 ns = bpf_ktime_get_ns() - b->at, path = b->path, *bound = bounds.lookup(&zero);
    struct slow_key_t key = {.pid = task >> 32, .call = b->call, .fd = b->fd};
    begun.delete(&task);
    if (!bound || !*bound || ns < *bound) return 0; // zero: nobody has said yet what is slow
    struct slow_t *s = entry(&key, ns);
    if (s && path) bpf_probe_read_user_str(s->path, sizeof(s->path), (void *)path);
    return 0;
}

#define ON_FILE(NAME, CALL)                                                                    \
    TRACEPOINT_PROBE(syscalls, sys_enter_##NAME) { return enter(CALL, (s32)args->fd, 0); }     \
    TRACEPOINT_PROBE(syscalls, sys_exit_##NAME) { return leave(); }
#define ON_PATH(NAME, CALL)                                                                            \
    TRACEPOINT_PROBE(syscalls, sys_enter_##NAME) { return enter(CALL, -1, (u64)args->filename); }      \
    TRACEPOINT_PROBE(syscalls, sys_exit_##NAME) { return leave(); }
ON_FILE(read, C_READ)
ON_FILE(pread64, C_READ)
ON_FILE(write, C_WRITE)
ON_FILE(pwrite64, C_WRITE)
ON_FILE(fsync, C_SYNC)
ON_FILE(fdatasync, C_SYNC)
ON_PATH(openat, C_OPEN)
ON_PATH(newfstatat, C_STAT)

TRACEPOINT_PROBE(block, block_rq_issue) {
    struct request_t r = {.sector = args->sector, .dev = args->dev};
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct issued_t i = {.at = bpf_ktime_get_ns()};
    // What the kernel writes back later is the node's, and nobody's.
    if (watched.lookup(&pid)) i.pid = pid;
    issued.update(&r, &i);
    return 0;
}

TRACEPOINT_PROBE(block, block_rq_complete) {
    struct request_t r = {.sector = args->sector, .dev = args->dev};
    struct issued_t *i = issued.lookup(&r);
    if (!i) return 0;
    int one = 1;
    u64 ns = bpf_ktime_get_ns() - i->at, *bound = bounds.lookup(&one);
    struct slow_key_t key = {.pid = i->pid, .call = C_BLOCK, .fd = (s32)args->dev};
    issued.delete(&r);
    if (bound && *bound && ns >= *bound) entry(&key, ns);
    return 0;
}
