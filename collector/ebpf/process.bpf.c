// Processes of jobs: followed from fork to end, with who sent the signal that ended them. No kprobe, no kernel structure:
// only tracepoints and their formats, so that the headers need not be those of the running kernel.
#define CLONE_THREAD_FLAG 0x00010000
#define WATCHED 16384
#define STRANGERS 8192
#define SIGNAL_KERNEL 0x80
#define SIGNAL_TIMER (-2)
enum { EXECED = 1, MAPPED = 2, ENDED = 3 };

struct watch_t { u32 root, left; s32 code; u32 signal, sender, uid, oom, pad; u64 born; char sender_comm[16]; };
struct event_t {
    u32 kind, pid, root, left;
    s32 code;
    u32 signal, sender, uid, oom, pad;
    u64 at, born;
    char comm[16], sender_comm[16];
};

// Who is followed: put in by user space, and here by descent. `root` is the ancestor that user space knows.
BPF_TABLE_PUBLIC("hash", u32, struct watch_t, watched, WATCHED);
// Who is not, or not yet: a job's process may be found a second after it began to fork. The latest of them, the ended too;
// `root` is the parent here, `pad` whether it forked, and `at` is zero while it lives.
struct stranger_t { struct watch_t seen; u64 at; char comm[16]; };
BPF_TABLE("lru_hash", u32, struct stranger_t, strangers, STRANGERS);
// Has mapped something executable since user space last looked.
BPF_HASH(mapped, u32, u32, WATCHED);
BPF_RINGBUF_OUTPUT(events, 128);
// Events for which the ring had no room, by kind.
BPF_ARRAY(untold, u64, 4);

// What a process did, in short: that it began a program or mapped one is told by thousands.
static __always_inline int say(u32 kind, u32 pid, u32 root) {
    struct { u32 kind, pid, root, left; } e = {kind, pid, root, 0};
    int full = events.ringbuf_output(&e, sizeof(e), 0) != 0;
    if (full) untold.increment(kind);
    return full;
}

static __always_inline void tell(u32 kind, u32 pid, struct watch_t *w) {
    struct event_t e = {};
    e.kind = kind;
    e.pid = pid;
    e.root = w->root;
    e.left = w->left;
    e.code = w->code;
    e.signal = w->signal;
    e.sender = w->sender;
    e.uid = w->uid;
    e.oom = w->oom;
    e.at = bpf_ktime_get_ns();
    e.born = w->born;
    bpf_get_current_comm(&e.comm, sizeof(e.comm));
    __builtin_memcpy(e.sender_comm, w->sender_comm, sizeof(e.sender_comm));
    if (events.ringbuf_output(&e, sizeof(e), 0)) untold.increment(kind);
}

// What is noted of a process, be it followed or a stranger.
static __always_inline struct watch_t *noted(u32 pid) {
    struct watch_t *w = watched.lookup(&pid);
    if (w) return w;
    struct stranger_t *s = strangers.lookup(&pid);
    return s ? &s->seen : 0;
}

static __always_inline void forked_by_stranger(u32 parent, u32 child) {
    struct stranger_t fresh = {}, *s = strangers.lookup(&parent);
    if (s) s->seen.pad = 1;
    fresh.seen.root = parent;
    fresh.seen.born = bpf_ktime_get_boot_ns();
    strangers.update(&child, &fresh);
}

TRACEPOINT_PROBE(task, task_newtask) {
    if (args->clone_flags & CLONE_THREAD_FLAG) return 0;
    u32 parent = bpf_get_current_pid_tgid() >> 32, child = args->pid;
    struct watch_t fresh = {}, *w = watched.lookup(&parent);
    if (w) {
        fresh.root = w->root;
    } else {
        // A task of a job from its first instruction on: only slurmstepd starts them.
        char comm[16] = {};
        bpf_get_current_comm(&comm, sizeof(comm));
        if (comm[0] != 's' || comm[1] != 'l' || comm[2] != 'u' || comm[3] != 'r' || comm[4] != 'm' || comm[5] != 's' ||
            comm[6] != 't' || comm[7] != 'e' || comm[8] != 'p' || comm[9] != 'd') {
            forked_by_stranger(parent, child);
            return 0;
        }
        fresh.root = child;
    }
    fresh.born = bpf_ktime_get_boot_ns();
    watched.update(&child, &fresh);
    return 0;
}

TRACEPOINT_PROBE(sched, sched_process_exec) {
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct watch_t *w = watched.lookup(&pid);
    // A program that begins may be a job's: who it belongs to is read from /proc, once.
    say(EXECED, pid, w ? w->root : 0);
    return 0;
}

TRACEPOINT_PROBE(syscalls, sys_enter_mmap) {
    if (!(args->prot & 4) || (int)args->fd < 0) return 0;
    u32 pid = bpf_get_current_pid_tgid() >> 32, one = 1;
    struct watch_t *w = watched.lookup(&pid);
    if (!w || mapped.lookup(&pid)) return 0;
    mapped.update(&pid, &one);
    if (say(MAPPED, pid, w->root)) mapped.delete(&pid);
    return 0;
}

TRACEPOINT_PROBE(syscalls, sys_enter_exit_group) {
    struct watch_t *w = noted(bpf_get_current_pid_tgid() >> 32);
    if (w) {
        w->left = 1;
        w->code = args->error_code & 0xff;
    }
    return 0;
}

TRACEPOINT_PROBE(signal, signal_generate) {
    int sig = args->sig;
    // Stops, continues, children, urgent data, window sizes end nobody; what was ignored or is pending already, neither.
    if (args->result || (sig >= 17 && sig <= 23) || sig == 28 || sig <= 0) return 0;
    u32 sender = bpf_get_current_pid_tgid() >> 32, pid = args->pid;
    struct watch_t *w = noted(pid);
    if (!w) {
        // A thread is no entry of its own: one that signals its own process (abort, a fault) is found by itself.
        pid = sender;
        w = noted(pid);
        if (!w || (args->pid != (int)(u32)bpf_get_current_pid_tgid())) return 0;
    }
    if (w->signal == 9) return 0;
    w->signal = sig;
    // A timer that runs out interrupts whatever runs then, and a limit is the process's own doing: the kernel sends these.
    int timed = args->code == SIGNAL_TIMER || (args->code == SIGNAL_KERNEL && (sig == 14 || sig == 24 || sig == 26 || sig == 27));
    w->sender = timed || (args->code == SIGNAL_KERNEL && sig == 9 && sender == pid) ? 0 : sender;
    w->uid = (u32)bpf_get_current_uid_gid();
    bpf_get_current_comm(&w->sender_comm, sizeof(w->sender_comm));
    return 0;
}

TRACEPOINT_PROBE(oom, mark_victim) {
    struct watch_t *w = noted(args->pid);
    if (w) w->oom = 1;
    return 0;
}

TRACEPOINT_PROBE(sched, sched_process_exit) {
    u64 id = bpf_get_current_pid_tgid();
    u32 pid = id >> 32;
    if ((u32)id != pid) return 0;
    struct watch_t *w = watched.lookup(&pid);
    if (!w) {
        struct stranger_t *s = strangers.lookup(&pid);
        if (s) {
            s->at = bpf_ktime_get_ns();
            bpf_get_current_comm(&s->comm, sizeof(s->comm));
        }
        return 0;
    }
    tell(ENDED, pid, w);
    watched.delete(&pid);
    mapped.delete(&pid);
    return 0;
}
