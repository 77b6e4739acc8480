/* A drive of your own behind fourcorners, in one file of C: the reference child.
 *
 *     cc -O2 -o drive drive.c
 *     fourcorners characterize "exec:./drive"
 *
 * docs/foreign-drives.md describes the protocol. Replace the part called "The model" by your
 * simulator; what stands above it can stay. As it is, the drive has eight dies that serve one
 * command each, 60 us for a read and 250 us for a write, which is durable when it completes. Its
 * state is how much it has programmed. With the argument "noop" every command completes at once,
 * which measures the protocol; with "pipes" it does without shared memory. */

#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define CAPACITY_BYTES 64000000000ull
enum { READ = 1, WRITE = 2, FLUSH = 3, TRIM = 4, WRITE_ZEROES = 5, ADVANCE = 16, ADVANCED = 32, COMPLETED = 33 };

/* A record is little endian, as are the machines that this file is for. */
struct record {
    uint8_t kind, flags, content, percent;
    uint32_t slot;
    uint64_t time_ns, offset_bytes, length_bytes;
};

static void fail(const char *why) {
    fprintf(stderr, "drive: %s\n", why);
    exit(1);
}

/* ---- How records travel: rings in shared memory, or standard input and output. ---- */

static unsigned char *memory; /* the rings, or NULL */
static uint32_t records;
static uint64_t taken, written;

#define TO_DRIVE_WRITTEN ((_Atomic uint64_t *)(memory + 64))
#define TO_DRIVE_TAKEN ((_Atomic uint64_t *)(memory + 128))
#define TO_HOST_WRITTEN ((_Atomic uint64_t *)(memory + 192))
#define TO_HOST_TAKEN ((_Atomic uint64_t *)(memory + 256))
#define DRIVE_SLEEPS ((_Atomic uint32_t *)(memory + 320))
#define HOST_SLEEPS ((_Atomic uint32_t *)(memory + 384))

static void map_rings(const char *path) {
    int file = open(path, O_RDWR);
    if (file < 0) return; /* pipes do as well */
    unsigned char header[16];
    if (pread(file, header, 16, 0) == 16 && memcmp(header, "4CORNERS", 8) == 0) {
        memcpy(&records, header + 12, 4);
        void *at = mmap(NULL, 4096 + 64 * (size_t)records, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (at != MAP_FAILED) memory = at;
    }
    close(file);
}

static char input[1 << 16];
static size_t input_used, input_held;

static void fill_input(void) {
    memmove(input, input + input_used, input_held - input_used);
    input_held -= input_used;
    input_used = 0;
    ssize_t count = read(0, input + input_held, sizeof input - input_held);
    if (count <= 0) exit(0); /* the host is gone */
    input_held += (size_t)count;
}

static void write_all(const void *bytes, size_t count) {
    while (count > 0) {
        ssize_t done = write(1, bytes, count);
        if (done <= 0) exit(0);
        bytes = (const char *)bytes + done;
        count -= (size_t)done;
    }
}

static struct record output[4096];
static size_t output_held;

static void send(struct record record) {
    if (memory) {
        while (written - atomic_load_explicit(TO_HOST_TAKEN, memory_order_acquire) >= records) {}
        memcpy(memory + 4096 + 32 * ((size_t)records + written % records), &record, 32);
        written++;
        return;
    }
    output[output_held++] = record;
    if (output_held == sizeof output / sizeof *output) {
        write_all(output, sizeof output);
        output_held = 0;
    }
}

/* Shows the host what was sent, and wakes it by an empty line. */
static void publish(void) {
    if (!memory) {
        write_all(output, output_held * sizeof *output);
        output_held = 0;
        return;
    }
    atomic_store_explicit(TO_HOST_WRITTEN, written, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(HOST_SLEEPS, memory_order_relaxed)) {
        atomic_store_explicit(HOST_SLEEPS, 0, memory_order_relaxed);
        write_all("\n", 1);
    }
}

static int ring_has_more(void) {
    return atomic_load_explicit(TO_DRIVE_WRITTEN, memory_order_acquire) != taken;
}

/* The next record, or 0 and a line of text (without its end, valid until the next call). */
static int receive(struct record *record, char **line) {
    for (;;) {
        if (memory) {
            for (int look = 0; look < 200 && !ring_has_more(); look++) {}
            if (!ring_has_more()) {
                atomic_store_explicit(DRIVE_SLEEPS, 1, memory_order_relaxed);
                atomic_thread_fence(memory_order_seq_cst);
            }
            if (ring_has_more()) {
                atomic_store_explicit(DRIVE_SLEEPS, 0, memory_order_relaxed);
                memcpy(record, memory + 4096 + 32 * (size_t)(taken % records), 32);
                taken++;
                atomic_store_explicit(TO_DRIVE_TAKEN, taken, memory_order_release);
                return 1;
            }
        }
        if (input_used == input_held) fill_input();
        if (!memory && input[input_used] != '{' && input[input_used] != '\n') {
            while (input_held - input_used < sizeof *record) fill_input();
            memcpy(record, input + input_used, sizeof *record);
            input_used += sizeof *record;
            return 1;
        }
        char *end;
        while (!(end = memchr(input + input_used, '\n', input_held - input_used))) {
            if (input_held - input_used == sizeof input) fail("a line is too long");
            fill_input();
        }
        *end = 0;
        *line = input + input_used;
        input_used = (size_t)(end - input) + 1;
        if (**line) return 0; /* an empty line only wakes */
    }
}

/* ---- The model. ---- */

#define PAGE_BYTES 4096
#define DIES 8
#define READ_NS 60000
#define WRITE_NS 250000

static int noop, pipes;
static uint64_t now_ns, die_free_ns[DIES], last_write_ns, programmed_bytes;

/* When a request that is handed over now completes. */
static uint64_t completion_ns(const struct record *request) {
    if (noop || request->kind == TRIM || request->kind == WRITE_ZEROES) return now_ns;
    if (request->kind == FLUSH) return last_write_ns > now_ns ? last_write_ns : now_ns;
    uint64_t latest_ns = now_ns;
    uint64_t end = request->offset_bytes + request->length_bytes;
    for (uint64_t page = request->offset_bytes / PAGE_BYTES; page * PAGE_BYTES < end; page++) {
        uint64_t *die = &die_free_ns[(page * 0x9e3779b97f4a7c15ull) >> 61];
        uint64_t begin_ns = *die > now_ns ? *die : now_ns;
        *die = begin_ns + (request->kind == READ ? READ_NS : WRITE_NS);
        if (*die > latest_ns) latest_ns = *die;
        if (request->kind == WRITE) programmed_bytes += PAGE_BYTES;
    }
    if (request->kind == WRITE && latest_ns > last_write_ns) last_write_ns = latest_ns;
    return latest_ns;
}

/* Outstanding requests: a binary heap by completion, those of the same time in order of arrival. */
struct pending { uint64_t time_ns, order; uint32_t slot; };
static struct pending *heap;
static size_t held, room;
static uint64_t order;

static int before(const struct pending *a, const struct pending *b) {
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

static void add(uint64_t time_ns, uint32_t slot) {
    if (held == room) {
        room = room ? 2 * room : 1024;
        heap = realloc(heap, room * sizeof *heap);
        if (!heap) fail("no memory");
    }
    size_t at = held++;
    struct pending one = {time_ns, order++, slot};
    for (; at > 0 && before(&one, &heap[(at - 1) / 2]); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = one;
}

static struct pending first(void) {
    struct pending one = heap[0], last = heap[--held];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= held) break;
        if (child + 1 < held && before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &last)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return one;
}

static void advance(uint64_t deadline_ns) {
    if (held == 0 || heap[0].time_ns > deadline_ns) {
        now_ns = deadline_ns;
    } else {
        now_ns = heap[0].time_ns;
        while (held > 0 && heap[0].time_ns == now_ns) {
            struct pending one = first();
            send((struct record){.kind = COMPLETED, .slot = one.slot, .time_ns = now_ns});
        }
    }
    send((struct record){.kind = ADVANCED, .time_ns = now_ns, .offset_bytes = programmed_bytes});
    publish();
}

/* ---- The conversation. ---- */

/* The text that stands behind a key, which is cut out of the line; NULL without it. The host
 * writes no spaces. This reader has no escapes: such a path does not open. */
static char *text_of(char *line, const char *key) {
    char *text = strstr(line, key);
    if (!text) return NULL;
    text += strlen(key);
    char *end = strchr(text, '"');
    if (end) *end = 0;
    return end ? text : NULL;
}

static void greet(void) {
    struct record none;
    char *line;
    if (receive(&none, &line)) fail("the host does not greet");
    char *path = text_of(line, "\"rings\":\"");
    if (path && !pipes) map_rings(path);
    printf("{\"fourcorners_drive\":1,\"name\":\"%s\",\"summary\":\"reference child in C\","
           "\"capacity_bytes\":%llu,\"keeps_state\":false,\"rings\":%s,"
           "\"can\":[\"purge\",\"trim\",\"write-zeroes\",\"power-cut\",\"save\",\"counters\"],"
           "\"truths\":{\"parallel_units\":%d}}\n",
           noop ? "No-op drive" : "Eight dies", CAPACITY_BYTES, memory ? "true" : "false", DIES);
    fflush(stdout);
}

static int save(const char *path) {
    FILE *file = fopen(path, "wx");
    if (!file) return 0;
    int ok = fprintf(file, "eight dies 1\n%llu\n", (unsigned long long)programmed_bytes) > 0;
    return fclose(file) == 0 && ok;
}

static int load(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    unsigned long long bytes;
    int ok = fscanf(file, "eight dies 1\n%llu", &bytes) == 1;
    fclose(file);
    if (ok) programmed_bytes = bytes;
    return ok;
}

/* What the host asks for rarely; only while nothing is outstanding. */
static void grant(char *line) {
    const char *answer = "{\"done\":true}";
    char counters[100], *path = text_of(line, "\"path\":\"");
    if (strstr(line, "\"do\":\"end\"")) {
        exit(0);
    } else if (strstr(line, "\"do\":\"purge\"")) {
        memset(die_free_ns, 0, sizeof die_free_ns);
        last_write_ns = 0;
    } else if (strstr(line, "\"do\":\"power-cut\"")) {
        answer = "{\"done\":true,\"lost\":[]}";
    } else if (strstr(line, "\"do\":\"counters\"")) {
        snprintf(counters, sizeof counters, "{\"done\":true,\"counters\":{\"programmed_pages\":%llu}}",
                 (unsigned long long)(programmed_bytes / PAGE_BYTES));
        answer = counters;
    } else if (strstr(line, "\"do\":\"save\"") && path) {
        if (!save(path)) answer = "{\"error\":\"the file cannot be written\"}";
    } else if (strstr(line, "\"do\":\"load\"") && path) {
        if (!load(path)) answer = "{\"error\":\"the file is no state of this drive\"}";
    } else {
        answer = "{\"error\":\"this drive cannot do that\"}";
    }
    write_all(answer, strlen(answer));
    write_all("\n", 1);
}

int main(int argc, char **argv) {
    for (int word = 1; word < argc; word++) {
        noop |= strcmp(argv[word], "noop") == 0;
        pipes |= strcmp(argv[word], "pipes") == 0;
    }
    greet();
    for (;;) {
        struct record record;
        char *line;
        if (!receive(&record, &line)) {
            grant(line);
        } else if (record.kind == ADVANCE) {
            advance(record.time_ns);
        } else if (record.kind >= READ && record.kind <= WRITE_ZEROES) {
            add(completion_ns(&record), record.slot);
        } else {
            fail("a record of an unknown kind");
        }
    }
}
