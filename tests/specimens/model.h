/* What a model of a drive is made of: arguments, randomness, variation of times, and events.
 * Time is virtual: nothing here looks at a clock. */
#ifndef SPECIMEN_MODEL_H
#define SPECIMEN_MODEL_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline _Noreturn void fail(const char *form, ...) {
    va_list rest;
    va_start(rest, form);
    vfprintf(stderr, form, rest);
    va_end(rest);
    fputc('\n', stderr);
    exit(1);
}

static inline void *zeroed(size_t count, size_t size) {
    void *at = calloc(count ? count : 1, size); /* untouched pages cost no memory */
    if (!at) fail("There is no memory for %zu bytes.", count * size);
    return at;
}

/* ---- Arguments: key=value, in any order. ---- */

static int argument_count;
static char **argument_values;
static bool argument_used[256], only_help, only_truths, only_design;

static inline void arguments(int count, char **values) {
    argument_count = count < 256 ? count : 256;
    argument_values = values;
    for (int i = 1; i < argument_count; i++) {
        only_help |= argument_used[i] = !strcmp(values[i], "--help");
        if (!strcmp(values[i], "--truths")) only_truths = argument_used[i] = true;
        if (!strcmp(values[i], "--design")) only_design = argument_used[i] = true;
    }
}

static inline const char *text(const char *key, const char *otherwise) {
    size_t length = strlen(key);
    const char *value = otherwise;
    for (int i = 1; i < argument_count; i++)
        if (!strncmp(argument_values[i], key, length) && argument_values[i][length] == '=') {
            argument_used[i] = true;
            value = argument_values[i] + length + 1;
        }
    if (only_help) printf("%s=%s\n", key, value);
    return value;
}

/* A number, with a unit where wanted: K, M, G are powers of 1024; ns, us, ms, s give nanoseconds. */
static inline double number(const char *key, const char *otherwise) {
    static const struct { const char *name; double factor; } units[] = {
        {"", 1}, {"K", 1024}, {"M", 1048576}, {"G", 1073741824}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *value = text(key, otherwise);
    char *end;
    double result = strtod(value, &end);
    for (size_t i = 0; end != value && i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].name) && result >= 0) return result * units[i].factor;
    fail("%s=%s is no number from 0 with a unit K, M, G, ns, us, ms or s, or without.", key, value);
}

/* ---- Randomness: SplitMix64 (Steele, Lea, Flood 2014). `begin` runs after it has its seed. ---- */

static uint64_t random_state;

static inline uint64_t random_bits(void) {
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline double uniform(void) { return (double)(random_bits() >> 11) * 0x1p-53; } /* [0, 1) */
static inline uint64_t below(uint64_t n) { return (uint64_t)(uniform() * (double)n); }
static inline double exponential(double mean) { return -mean * log(1 - uniform()); }
static inline double normal(void) { return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform()); }

/* ---- Events: a binary heap by time, those of the same time in the order of their making. ---- */

typedef void (*action)(uint64_t a, uint64_t b);
struct event { uint64_t time_ns, order; action run; uint64_t a, b; }; /* run NULL: slot a completes */

static uint64_t now_ns, events_made;
static struct event *events;
static size_t events_held, events_room;

static inline bool earlier(const struct event *x, const struct event *y) {
    return x->time_ns != y->time_ns ? x->time_ns < y->time_ns : x->order < y->order;
}

/* Runs the action at that time (or at once after what runs now, where it is past). Keep no endless
 * chain of events alive while the drive has nothing to do: the host may go on to the end of time. */
static inline void at(uint64_t time_ns, action run, uint64_t a, uint64_t b) {
    if (events_held == events_room) {
        events_room = events_room ? 2 * events_room : 1024;
        if (!(events = realloc(events, events_room * sizeof *events))) fail("There is no memory for events.");
    }
    struct event one = {time_ns > now_ns ? time_ns : now_ns, events_made++, run, a, b};
    size_t place = events_held++;
    for (; place && earlier(&one, &events[(place - 1) / 2]); place = (place - 1) / 2) events[place] = events[(place - 1) / 2];
    events[place] = one;
}

static inline struct event next_event(void) {
    struct event one = events[0], last = events[--events_held];
    size_t place = 0, child;
    while ((child = 2 * place + 1) < events_held) {
        child += child + 1 < events_held && earlier(&events[child + 1], &events[child]);
        if (!earlier(&events[child], &last)) break;
        events[place] = events[child];
        place = child;
    }
    events[place] = last;
    return one;
}

static inline void complete_at(uint64_t time_ns, uint32_t slot) { at(time_ns, NULL, slot, 0); }

/* Takes a resource that serves one after the other (a link, a channel); gives when it is done. */
static inline uint64_t reserve(uint64_t *free_ns, uint64_t from_ns, uint64_t duration_ns) {
    return *free_ns = (*free_ns > from_ns ? *free_ns : from_ns) + duration_ns;
}

/* ---- Variation: what makes two equal commands differ, all off unless asked for. ---- */

static struct {
    double noise, outliers, outlier_times, retries, retry_ns, jitter_ns;
    double housekeeping_every_ns, housekeeping_ns;
    double throttle_rate, throttle_after, throttle_to;
} vary;

static struct { double heat_bytes; uint64_t at_ns, free_ns; bool hot; } thermal;

static inline void variation_parameters(void) {
    vary.noise = number("noise", "0");                     /* standard deviation of cell times, as a share */
    vary.outliers = number("outliers", "0");               /* how many cell operations are ... */
    vary.outlier_times = number("outlier_times", "10");    /* ... so many times as long */
    vary.retries = number("retries", "0");                 /* probability that a page must be read again, each time */
    vary.retry_ns = number("retry", "60us");
    vary.jitter_ns = number("jitter", "0ns");              /* mean of an exponential delay of each completion */
    vary.housekeeping_every_ns = number("housekeeping_every", "0s"); /* the flash stands still ... */
    vary.housekeeping_ns = number("housekeeping", "5ms");            /* ... for so long */
    vary.throttle_rate = number("throttle_rate", "0");     /* bytes a second that may be written for ever */
    vary.throttle_after = number("throttle_after", "256M"); /* bytes above that until it is too hot */
    vary.throttle_to = number("throttle_to", "0");         /* bytes a second while hot; 0: half the rate */
    if (vary.throttle_to == 0) vary.throttle_to = vary.throttle_rate / 2;
}

static inline void variation_begin(void) { memset(&thermal, 0, sizeof thermal); }

/* How long this cell operation takes: log-normal about its mean, now and then far longer. */
static inline uint64_t varied(double mean_ns) {
    if (vary.noise > 0) {
        double variance = log(1 + vary.noise * vary.noise);
        mean_ns *= exp(sqrt(variance) * normal() - variance / 2);
    }
    if (vary.outliers > 0 && uniform() < vary.outliers) mean_ns *= vary.outlier_times;
    return (uint64_t)(mean_ns + 0.5);
}

static inline uint64_t varied_read(double mean_ns) {
    for (double once_ns = mean_ns; vary.retries > 0 && uniform() < vary.retries && mean_ns < 8 * once_ns;) mean_ns += vary.retry_ns;
    return varied(mean_ns);
}

/* When a flash command that could begin then does begin. */
static inline uint64_t after_housekeeping(uint64_t time_ns) {
    if (vary.housekeeping_every_ns <= 0 || (double)time_ns < vary.housekeeping_every_ns) return time_ns;
    double since_ns = fmod((double)time_ns, vary.housekeeping_every_ns);
    return since_ns < vary.housekeeping_ns ? time_ns + (uint64_t)(vary.housekeeping_ns - since_ns) : time_ns;
}

/* By how much a write of so many bytes is held back now: what is written heats, the rate that may be
 * written for ever cools, and a hot drive is slow until half the heat is gone. */
static inline uint64_t throttled(uint64_t bytes) {
    if (vary.throttle_rate <= 0) return 0;
    double cooled = thermal.heat_bytes - vary.throttle_rate * 1e-9 * (double)(now_ns - thermal.at_ns);
    thermal.heat_bytes = (cooled > 0 ? cooled : 0) + (double)bytes;
    thermal.at_ns = now_ns;
    thermal.hot = thermal.heat_bytes > vary.throttle_after * (thermal.hot ? 0.5 : 1);
    if (!thermal.hot) return 0;
    return reserve(&thermal.free_ns, now_ns, (uint64_t)((double)bytes * 1e9 / vary.throttle_to)) - now_ns;
}

static inline uint64_t jitter(void) { return vary.jitter_ns > 0 ? (uint64_t)exponential(vary.jitter_ns) : 0; }

/* ---- The host's side: a link of limited rate, and a controller that takes one request at a time. ---- */

static struct { double ns_per_byte, overhead_ns, controller_ns; bool full_duplex; } host;
static struct { uint64_t to_host_ns, to_drive_ns, controller_ns; } host_free;

static inline void host_parameters(const char *link_rate, const char *duplex, const char *overhead, const char *controller) {
    host.ns_per_byte = 1e9 / number("link_rate", link_rate);    /* bytes a second of data, without packets' heads */
    host.full_duplex = !strcmp(text("duplex", duplex), "full"); /* half (SATA) or full (PCIe) */
    host.overhead_ns = number("overhead", overhead);            /* of each request, hidden by parallel ones */
    host.controller_ns = number("controller", controller);      /* of each request, hidden by nothing */
}

static inline void host_begin(void) { memset(&host_free, 0, sizeof host_free); }

static inline uint64_t taken_by_controller(void) { return reserve(&host_free.controller_ns, now_ns, (uint64_t)host.controller_ns); }

static inline uint64_t over_link(bool to_host, uint64_t from_ns, uint64_t bytes) {
    bool other_way = host.full_duplex && !to_host;
    return reserve(other_way ? &host_free.to_drive_ns : &host_free.to_host_ns, from_ns, (uint64_t)((double)bytes * host.ns_per_byte + 0.5));
}

/* Requests in pieces: the last piece completes its request. */
struct request { uint64_t pieces, latest_ns; };
static struct request *requests;
static size_t requests_room;

static inline void open_request(uint32_t slot, uint64_t pieces) {
    if (slot >= requests_room) {
        requests_room = 2 * (size_t)slot + 64;
        if (!(requests = realloc(requests, requests_room * sizeof *requests))) fail("There is no memory for requests.");
    }
    requests[slot] = (struct request){pieces, 0};
}

static inline void piece_done(uint32_t slot, uint64_t time_ns) {
    struct request *request = &requests[slot];
    if (time_ns > request->latest_ns) request->latest_ns = time_ns;
    if (--request->pieces == 0) complete_at(request->latest_ns + (uint64_t)host.overhead_ns + jitter(), slot);
}
#endif
