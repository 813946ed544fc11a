// What a job's processes write to their standard output and error: the text itself, bounded per process and second. A descriptor
// of another number is one of them too where it leads to the same file; what the kernel moves by itself is counted and not told.
#include <uapi/linux/ptrace.h>

#define PIECE 8192
#define PIECES 4
#define PARTS 8
#define PER_SECOND (128 * 1024)

struct watch_t { u32 root, left; s32 code; u32 signal, sender, uid, oom, pad; u64 born; char sender_comm[16]; };
struct text_t { u64 at; u32 pid, root, fd, size, lost, pad; char comm[16]; char text[PIECE]; };
struct flow_t { u64 second, bytes, lost_bytes, lost_writes; };
struct part_t { u64 from, size; };

BPF_TABLE("extern", u32, struct watch_t, watched, 16384);
BPF_TABLE("lru_hash", u32, struct flow_t, flow, 8192);
// Whoever is moving bytes from a file to its output.
BPF_TABLE("lru_hash", u64, u32, moving, 4096);
BPF_PERCPU_ARRAY(scratch, struct text_t, 1);
BPF_RINGBUF_OUTPUT(texts, 128);

#ifdef TASK_FILES
static __always_inline u64 word(u64 from) {
    u64 value = 0;
    bpf_probe_read_kernel(&value, sizeof(value), (void *)from);
    return value;
}

static __always_inline u64 behind(u64 files, u32 fd) {
    u64 file = word(files + 8 * (u64)fd);
    return file ? word(file + FILE_INODE) : 0;
}

// Whether descriptors are copies of each other, were opened anew (/dev/stdout), or came over a socket: one file has one inode.
static __always_inline u32 copied(u32 fd) {
    u64 table = word(word(bpf_get_current_task() + TASK_FILES) + FILES_TABLE);
    if (fd >= (u32)word(table + TABLE_ROOM)) return 0;
    u64 files = word(table + TABLE_FILES), inode = behind(files, fd);
    if (!inode) return 0;
    if (inode == behind(files, 1)) return 1;
    return inode == behind(files, 2) ? 2 : 0;
}
#else
#define copied(FD) 0
#endif

// 1 or 2 where a followed process writes to what is its output, else 0.
static __always_inline u32 stream_of(struct watch_t *w, u32 fd) {
    return !w ? 0 : fd == 1 || fd == 2 ? fd : copied(fd);
}

static __always_inline struct flow_t *flow_of(u32 pid) {
    struct flow_t *f = flow.lookup(&pid), fresh = {};
    if (f) return f;
    flow.update(&pid, &fresh);
    return flow.lookup(&pid);
}

// Whether so much more may be told in this second; what may not is counted.
static __always_inline int room(struct flow_t *f, u64 now, u64 count) {
    u64 second = now / 1000000000ULL;
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
    return 1;
}

static __always_inline struct text_t *begin(struct watch_t *w, u32 pid, u32 fd, u64 now) {
    int zero = 0;
    struct text_t *t = scratch.lookup(&zero);
    if (!t) return 0;
    t->at = now;
    t->pid = pid;
    t->root = w->root;
    t->fd = fd;
    t->lost = 0;
    bpf_get_current_comm(&t->comm, sizeof(t->comm));
    return t;
}

static __always_inline int tell(struct text_t *t, const char *from, u64 size) {
    t->size = size;
    return bpf_probe_read_user(t->text, size & 0x3fff, from) ||
           texts.ringbuf_output(t, (offsetof(struct text_t, text) + size) & 0x3fff, BPF_RB_NO_WAKEUP);
}

static __always_inline void written(u32 fd, const char *from, u64 count) {
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct watch_t *w = watched.lookup(&pid);
    u32 stream = count ? stream_of(w, fd) : 0;
    if (!w || !stream) return;
    u64 now = bpf_ktime_get_ns(), want = count;
    struct flow_t *f = flow_of(pid);
    // Of a long write the first part is told, however long it is.
    if (want > PIECES * PIECE) want = PIECES * PIECE;
    if (!f) return;
    if (!room(f, now, want)) {
        f->lost_bytes += count - want;
        return;
    }
    struct text_t *t = begin(w, pid, stream, now);
    if (!t) return;
    u64 told = 0;
    for (int i = 0; i < PIECES; i++) {
        if (told >= count) break;
        u64 size = count - told;
        if (size > PIECE) size = PIECE;
        if (i == PIECES - 1 && count > told + size) t->lost = count - told - size;
        if (tell(t, from + told, size)) {
            f->lost_bytes += count - told;
            f->lost_writes += 1;
            return;
        }
        told += size;
    }
    if (told < count) f->lost_bytes += count - told;
}

TRACEPOINT_PROBE(syscalls, sys_enter_write) {
    written(args->fd, (const char *)args->buf, args->count);
    return 0;
}

TRACEPOINT_PROBE(syscalls, sys_enter_pwrite64) {
    written(args->fd, (const char *)args->buf, args->count);
    return 0;
}

// The C library's last words (a corrupted heap, a smashed stack) and other languages' lines come in parts.
TRACEPOINT_PROBE(syscalls, sys_enter_writev) {
    u32 pid = bpf_get_current_pid_tgid() >> 32;
    struct watch_t *w = watched.lookup(&pid);
    u32 stream = stream_of(w, args->fd);
    if (!w || !stream) return 0;
    u64 now = bpf_ktime_get_ns();
    struct flow_t *f = flow_of(pid);
    struct text_t *t = begin(w, pid, stream, now);
    if (!f || !t) return 0;
    for (int i = 0; i < PARTS; i++) {
        struct part_t part = {};
        if (i >= args->vlen || bpf_probe_read_user(&part, sizeof(part), (const struct part_t *)args->vec + i)) break;
        if (!part.size || !room(f, now, part.size)) continue;
        u64 size = part.size;
        if (size > PIECE) {
            f->lost_bytes += size - PIECE;
            size = PIECE;
        }
        if (tell(t, (const char *)part.from, size)) {
            f->lost_bytes += size;
            f->lost_writes += 1;
        }
    }
    if (args->vlen > PARTS) f->lost_writes += 1;
    return 0;
}

static __always_inline void moves(u32 fd) {
    u64 task = bpf_get_current_pid_tgid();
    u32 pid = task >> 32, stream = stream_of(watched.lookup(&pid), fd);
    if (stream) moving.update(&task, &stream);
}

static __always_inline void moved(s64 count) {
    u64 task = bpf_get_current_pid_tgid();
    if (!moving.lookup(&task)) return;
    moving.delete(&task);
    struct flow_t *f = count > 0 ? flow_of(task >> 32) : 0;
    if (!f) return;
    f->lost_bytes += count;
    f->lost_writes += 1;
}

#define MOVES(NAME, OUT)                                                                    \
    TRACEPOINT_PROBE(syscalls, sys_enter_##NAME) { moves(args->OUT); return 0; }            \
    TRACEPOINT_PROBE(syscalls, sys_exit_##NAME) { moved(args->ret); return 0; }
MOVES(sendfile64, out_fd)
MOVES(splice, fd_out)
MOVES(copy_file_range, fd_out)
