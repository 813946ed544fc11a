// What a job's processes write to their standard output and error: the text itself, bounded per process and second.
#include <uapi/linux/ptrace.h>

#define PIECE 8192
#define PIECES 4
#define PER_SECOND (128 * 1024)

struct watch_t { u32 root, left; s32 code; u32 signal, sender, uid, oom, pad; u64 born; char sender_comm[16]; };
struct text_t { u64 at; u32 pid, root, fd, size, lost, pad; char comm[16]; char text[PIECE]; };
struct flow_t { u64 second, bytes, lost_bytes, lost_writes; };

BPF_TABLE("extern", u32, struct watch_t, watched, 16384);
BPF_TABLE("lru_hash", u32, struct flow_t, flow, 8192);
BPF_PERCPU_ARRAY(scratch, struct text_t, 1);
BPF_RINGBUF_OUTPUT(texts, 128);

TRACEPOINT_PROBE(syscalls, sys_enter_write) {
    if (args->fd != 1 && args->fd != 2) return 0;
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct watch_t *w = watched.lookup(&pid);
    if (!w || !args->count) return 0;
    u64 now = bpf_ktime_get_ns(), second = now / 1000000000ULL, count = args->count;
    struct flow_t *f = flow.lookup(&pid), fresh = {};
    if (!f) {
        flow.update(&pid, &fresh);
        f = flow.lookup(&pid);
        if (!f) return 0;
    }
    if (f->second != second) {
        f->second = second;
        f->bytes = 0;
    }
    if (f->bytes + count > PER_SECOND) {
        f->lost_bytes += count;
        f->lost_writes += 1;
        return 0;
    }
    f->bytes += count;
    int zero = 0;
    struct text_t *t = scratch.lookup(&zero);
    if (!t) return 0;
    t->at = now;
    t->pid = pid;
    t->root = w->root;
    t->fd = args->fd;
    bpf_get_current_comm(&t->comm, sizeof(t->comm));
    const char *from = (const char *)args->buf;
    u64 told = 0;
    for (int i = 0; i < PIECES; i++) {
        if (told >= count) break;
        u64 size = count - told;
        if (size > PIECE) size = PIECE;
        t->size = size;
        t->lost = 0;
        if (i == PIECES - 1 && count > told + size) t->lost = count - told - size;
        if (bpf_probe_read_user(t->text, size & 0x3fff, from + told) ||
            texts.ringbuf_output(t, (offsetof(struct text_t, text) + size) & 0x3fff, BPF_RB_NO_WAKEUP)) {
            f->lost_bytes += count - told;
            f->lost_writes += 1;
            return 0;
        }
        told += size;
    }
    if (told < count) f->lost_bytes += count - told;
    return 0;
}
