/* What every specimen needs to be a drive behind fourcorners: the protocol of
 * docs/foreign-drives.md, over pipes or rings. C11, libc and libm only; model.h beside it has
 * arguments, randomness, variation of times and events.
 *
 * A program reads its parameters (`arguments`, then `number` and `text`), fills a `struct drive` and
 * calls `serve`. The drive gets each request by `submit` at `now_ns`, plans what it does by `at`, and
 * says by `complete_at` when a request is done.
 *
 * Each program takes `--truths` (what is true of it by the names of findings, as JSON), `--design`
 * (what else it is, by names of its own) and `--help` (its parameters) too. */
#ifndef SPECIMEN_PROTOCOL_H
#define SPECIMEN_PROTOCOL_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"

enum { READ = 1, WRITE = 2, FLUSH = 3, TRIM = 4, WRITE_ZEROES = 5, ADVANCE = 16, ADVANCED = 32, COMPLETED = 33 };
enum { FUA = 1 };
#define NOBODY_COUNTS UINT64_MAX

struct record { /* little endian, as the machines are that this is for */
    uint8_t kind, flags, content, percent;
    uint32_t slot;
    uint64_t time_ns, offset_bytes, length_bytes;
};

struct drive {
    const char *name, *summary;
    uint64_t capacity_bytes;
    bool can_trim, keeps_nothing;               /* keeps_nothing: earlier writes change no later speed */
    void (*begin)(void);                        /* makes all state new, at the start and at a purge */
    void (*submit)(const struct record *);      /* lies within the capacity; call complete_at for it once */
    void (*arrive)(const struct record *);      /* instead: it has passed controller and link (model.h) */
    uint64_t (*programmed_bytes)(void);         /* into flash since it was made, or NULL */
    void (*truths)(void);                       /* calls `item` for each, or NULL */
    void (*design)(void);                       /* the same of what no finding is about */
    void (*counters)(void);                     /* calls `item` for each, or NULL */
    void (*power_cut)(void);                    /* calls `lost` for each range, ascending, or NULL */
};

/* ---- How records travel: rings in shared memory, or standard input and output. ---- */

static unsigned char *rings; /* or NULL */
static uint32_t ring_records;
static uint64_t ring_taken, ring_written;
#define RING_COUNT(where) ((_Atomic uint64_t *)(rings + (where)))
#define RING_FLAG(where) ((_Atomic uint32_t *)(rings + (where)))
enum { TO_DRIVE = 64, DRIVE_TOOK = 128, TO_HOST = 192, HOST_TOOK = 256, DRIVE_SLEEPS = 320, HOST_SLEEPS = 384 };

static inline void map_rings(const char *path) {
    int file = open(path, O_RDWR);
    struct { char magic[8]; uint32_t version, records; } header;
    if (file < 0) return; /* pipes do as well */
    if (read(file, &header, sizeof header) == sizeof header && !memcmp(header.magic, "4CORNERS", 8) && header.version == 1) {
        void *where = mmap(NULL, 4096 + 64 * (size_t)header.records, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (where != MAP_FAILED) rings = where, ring_records = header.records;
    }
    close(file);
}

static char input[1 << 16], output[1 << 16];
static size_t input_used, input_held, output_held;

static inline void more_input(void) {
    memmove(input, input + input_used, input_held -= input_used);
    input_used = 0;
    if (input_held == sizeof input) fail("A line of the host is too long.");
    ssize_t count = read(0, input + input_held, sizeof input - input_held);
    if (count <= 0) exit(0); /* the host is gone */
    input_held += (size_t)count;
}

static inline void send_output(void) {
    for (size_t done = 0; done < output_held;) {
        ssize_t count = write(1, output + done, output_held - done);
        if (count <= 0) exit(0);
        done += (size_t)count;
    }
    output_held = 0;
}

static inline void say(const char *form, ...) { /* a part of a line of JSON */
    if (sizeof output - output_held < 4096) send_output();
    va_list rest;
    va_start(rest, form);
    output_held += (size_t)vsnprintf(output + output_held, 4096, form, rest);
    va_end(rest);
}

static inline void publish(void) { /* shows the host what was sent, and wakes it by an empty line */
    if (rings) {
        atomic_store_explicit(RING_COUNT(TO_HOST), ring_written, memory_order_release);
        atomic_thread_fence(memory_order_seq_cst);
        if (!atomic_exchange_explicit(RING_FLAG(HOST_SLEEPS), 0, memory_order_relaxed)) return;
        output[output_held++] = '\n';
    }
    send_output();
}

static inline void send_record(struct record record) {
    if (!rings) {
        if (sizeof output - output_held < sizeof record) send_output();
        memcpy(output + output_held, &record, sizeof record);
        output_held += sizeof record;
        return;
    }
    while (ring_written - atomic_load_explicit(RING_COUNT(HOST_TOOK), memory_order_acquire) >= ring_records) publish();
    memcpy(rings + 4096 + 32 * ((size_t)ring_records + ring_written++ % ring_records), &record, 32);
}

static inline bool ring_has_more(void) {
    return atomic_load_explicit(RING_COUNT(TO_DRIVE), memory_order_acquire) != ring_taken;
}

/* The next record (NULL is given), or a line of text (valid until the next call). */
static inline char *receive(struct record *record) {
    for (;;) {
        if (rings) {
            for (int look = 0; look < 2000 && !ring_has_more(); look++) {}
            if (!ring_has_more()) {
                atomic_store_explicit(RING_FLAG(DRIVE_SLEEPS), 1, memory_order_relaxed);
                atomic_thread_fence(memory_order_seq_cst);
            }
            if (ring_has_more()) {
                atomic_store_explicit(RING_FLAG(DRIVE_SLEEPS), 0, memory_order_relaxed);
                memcpy(record, rings + 4096 + 32 * (size_t)(ring_taken % ring_records), 32);
                atomic_store_explicit(RING_COUNT(DRIVE_TOOK), ++ring_taken, memory_order_release);
                return NULL;
            }
        }
        while (input_used == input_held) more_input();
        if (!rings && input[input_used] != '{' && input[input_used] != '\n') {
            while (input_held - input_used < sizeof *record) more_input();
            memcpy(record, input + input_used, sizeof *record);
            input_used += sizeof *record;
            return NULL;
        }
        char *end;
        while (!(end = memchr(input + input_used, '\n', input_held - input_used))) more_input();
        char *line = input + input_used;
        *end = 0;
        input_used = (size_t)(end - input) + 1;
        if (*line) return line; /* an empty line only wakes */
    }
}

/* ---- Requests on their way from the host, by slot: the controller, throttling, the link. ---- */

static struct record *arrivals;
static uint32_t arrivals_room;
static void (*arrive_at_drive)(const struct record *);

static inline void arrival(uint64_t slot, uint64_t b) { (void)b, arrive_at_drive(&arrivals[slot]); }

static inline void cross_link(uint64_t slot, uint64_t from_ns) {
    if (from_ns < now_ns) from_ns = now_ns;
    bool crosses = arrivals[slot].kind == WRITE;
    if (arrivals[slot].kind == WRITE_ZEROES) arrivals[slot].kind = WRITE; /* the same, but the host sends no data */
    at(crosses ? over_link(false, from_ns, arrivals[slot].length_bytes) : from_ns, arrival, slot, 0);
}

static inline void send_to_drive(const struct record *request) {
    if (request->slot >= arrivals_room) {
        arrivals_room = 2 * request->slot + 64;
        if (!(arrivals = realloc(arrivals, arrivals_room * sizeof *arrivals))) fail("There is no memory for requests.");
    }
    arrivals[request->slot] = *request;
    uint64_t taken_ns = taken_by_controller(), held_ns = request->kind == WRITE || request->kind == WRITE_ZEROES ? throttled(request->length_bytes) : 0;
    if (held_ns) at(now_ns + held_ns, cross_link, request->slot, taken_ns);
    else cross_link(request->slot, taken_ns);
}

/* ---- The conversation. ---- */

static const char *comma = "";
static inline void item(const char *name, double value) { say("%s\"%s\":%.12g", comma, name, value); comma = ","; }
static inline void item_text(const char *name, const char *value) { say("%s\"%s\":\"%s\"", comma, name, value); comma = ","; }
static inline void lost(uint64_t offset_bytes, uint64_t length_bytes) {
    say("%s[%" PRIu64 ",%" PRIu64 "]", comma, offset_bytes, length_bytes);
    comma = ",";
}

static inline void say_list(const char *before, void (*items)(void), const char *after) {
    comma = "";
    say("%s", before);
    if (items) items();
    say("%s", after);
}

static inline void go_on(const struct drive *drive, uint64_t deadline_ns) {
    bool completed = false;
    while (events_held && events[0].time_ns <= deadline_ns) {
        struct event one = next_event();
        now_ns = one.time_ns;
        if (one.run) {
            one.run(one.a, one.b);
        } else { /* what else happens at this time still does, and nothing later */
            completed = true;
            deadline_ns = now_ns;
            send_record((struct record){.kind = COMPLETED, .slot = (uint32_t)one.a, .time_ns = now_ns, .offset_bytes = one.b});
        }
    }
    if (!completed && deadline_ns > now_ns) now_ns = deadline_ns;
    uint64_t programmed = drive->programmed_bytes ? drive->programmed_bytes() : NOBODY_COUNTS;
    send_record((struct record){.kind = ADVANCED, .time_ns = now_ns, .offset_bytes = programmed});
    publish();
}

static inline void grant(const struct drive *drive, const char *wish) {
    if (strstr(wish, "\"end\"")) exit(0);
    if (strstr(wish, "\"purge\"")) {
        events_held = 0;
        drive->begin();
        say("{\"done\":true");
    } else if (strstr(wish, "\"power-cut\"") && drive->power_cut) {
        say_list("{\"done\":true,\"lost\":[", drive->power_cut, "]");
    } else if (strstr(wish, "\"counters\"") && drive->counters) {
        say_list("{\"done\":true,\"counters\":{", drive->counters, "}");
    } else {
        say("{\"error\":\"This drive cannot do that.\"");
    }
    say("}\n");
    send_output();
}

/* What stands after a key of the host's line of JSON, or NULL. */
static inline char *value_of(char *line, const char *key) {
    char *place = strstr(line, key);
    return place ? place + strlen(key) + strspn(place + strlen(key), " \t:") : NULL;
}

static inline _Noreturn void serve(const struct drive *drive) {
    double own_seed = number("seed", "0"); /* beside the host's */
    for (int i = 1; i < argument_count; i++)
        if (!argument_used[i]) fail("%s is no parameter of this drive; --help gives them.", argument_values[i]);
    if (only_help) exit(0);
    if (only_truths || only_design) {
        say_list("{", only_truths ? drive->truths : drive->design, "}\n");
        send_output();
        exit(0);
    }
    struct record record;
    char *line = receive(&record), *seed, *path, *end;
    if (!line) fail("The host does not greet.");
    if ((seed = value_of(line, "\"seed\""))) random_state = strtoull(seed, NULL, 10);
    random_state = random_bits() ^ (uint64_t)own_seed;
    if ((path = value_of(line, "\"rings\"")) && *path++ == '"' && (end = strchr(path, '"'))) *end = 0, map_rings(path);
    say("{\"fourcorners_drive\":1,\"name\":\"%s\",\"summary\":\"%s\",\"capacity_bytes\":%" PRIu64, drive->name, drive->summary, drive->capacity_bytes);
    say(",\"keeps_state\":%s,\"rings\":%s", drive->keeps_nothing ? "false" : "true", rings ? "true" : "false");
    say(",\"can\":[\"purge\",\"write-zeroes\"%s%s%s]", drive->can_trim ? ",\"trim\"" : "", drive->power_cut ? ",\"power-cut\"" : "", drive->counters ? ",\"counters\"" : "");
    say_list(",\"truths\":{", drive->truths, "}}\n");
    send_output();
    drive->begin();
    arrive_at_drive = drive->arrive;
    for (;;) {
        if ((line = receive(&record))) {
            grant(drive, line);
        } else if (record.kind == ADVANCE) {
            go_on(drive, record.time_ns);
        } else if (record.kind < READ || record.kind > WRITE_ZEROES) {
            fail("A record is of the unknown kind %d.", record.kind);
        } else if (record.kind != FLUSH && (record.offset_bytes > drive->capacity_bytes ||
                                            record.length_bytes > drive->capacity_bytes - record.offset_bytes)) {
            at(now_ns, NULL, record.slot, EINVAL);
        } else {
            (drive->arrive ? send_to_drive : drive->submit)(&record);
        }
    }
}
#endif
