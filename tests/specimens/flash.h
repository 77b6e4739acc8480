/* How flash commands of a drive wait for each other: units (planes or dies) that serve one job at a
 * time in order, channels that units share, and the link to the host. A model decides at once where
 * data go; the jobs that it makes say what that costs. */
#ifndef SPECIMEN_FLASH_H
#define SPECIMEN_FLASH_H

#include "protocol.h"

/* Internal work, then data over the channel, then the cells, then data back over the channel. */
struct job {
    uint64_t before_ns, in_ns, cell_ns, out_ns;
    action done; /* when all is over */
    uint64_t a, b;
    struct job *next;
};

struct unit { struct job *first, *last; };

static struct unit *units;
static uint64_t *channel_free_ns, unit_count, channel_count, jobs_held;
static struct job *spare_jobs;

/* Work of the drive itself: after the host wanted nothing for idle_ns (0: never), idle_work gives jobs,
 * and again each time they are done, until it gives none or the host comes. */
static double idle_ns;
static void (*idle_work)(void);
static bool idle_works, idle_timer_runs;
static uint64_t idle_since_ns;

static inline void unit_starts(uint64_t unit);

static inline void unit_finishes(uint64_t unit, uint64_t unused) {
    struct job *job = units[unit].first, one = *job;
    (void)unused;
    units[unit].first = job->next;
    job->next = spare_jobs;
    spare_jobs = job;
    jobs_held--;
    if (units[unit].first) unit_starts(unit);
    if (one.done) one.done(one.a, one.b);
    if (!jobs_held && idle_works) idle_work();
}

static inline void unit_sends(uint64_t unit, uint64_t unused) {
    struct job *job = units[unit].first;
    if (job->out_ns) at(reserve(&channel_free_ns[unit % channel_count], now_ns, job->out_ns), unit_finishes, unit, 0);
    else unit_finishes(unit, unused);
}

static inline void unit_takes(uint64_t unit, uint64_t unused) {
    struct job *job = units[unit].first;
    (void)unused;
    uint64_t taken_ns = job->in_ns ? reserve(&channel_free_ns[unit % channel_count], now_ns, job->in_ns) : now_ns;
    at(after_housekeeping(taken_ns) + job->cell_ns, unit_sends, unit, 0);
}

static inline void unit_starts(uint64_t unit) {
    at(after_housekeeping(now_ns) + units[unit].first->before_ns, unit_takes, unit, 0);
}

static inline void give(uint64_t unit, struct job job) {
    struct job *place = spare_jobs ? spare_jobs : zeroed(1, sizeof *place);
    if (spare_jobs) spare_jobs = place->next;
    job.next = NULL;
    *place = job;
    jobs_held++;
    if (units[unit].first) {
        units[unit].last = units[unit].last->next = place;
    } else {
        units[unit].first = units[unit].last = place;
        unit_starts(unit);
    }
}

/* ---- Requests of the host: each is done when its parts are. ---- */

static uint64_t requests_held;

/* One part stands for the request itself, until all others are known. */
static inline void begin_request(const struct record *request) {
    open_request(request->slot, 1);
    requests_held++;
    idle_works = false;
}

static inline void more_parts(uint64_t slot, uint64_t count) { requests[slot].pieces += count; }

static inline void idle_timer(uint64_t unused, uint64_t unused_too) {
    uint64_t due_ns = idle_since_ns + (uint64_t)idle_ns;
    idle_timer_runs = !requests_held && (jobs_held || now_ns < due_ns);
    if (idle_timer_runs) at(now_ns < due_ns ? due_ns : now_ns + (uint64_t)idle_ns, idle_timer, unused, unused_too);
    else if ((idle_works = !requests_held)) idle_work();
}

static inline void part_done(uint64_t slot, uint64_t unused) {
    (void)unused;
    requests[slot].latest_ns = now_ns;
    if (requests[slot].pieces == 1 && arrivals[slot].kind == READ) requests[slot].latest_ns = over_link(true, now_ns, arrivals[slot].length_bytes);
    idle_since_ns = requests[slot].latest_ns;
    requests_held -= requests[slot].pieces == 1;
    piece_done((uint32_t)slot, requests[slot].latest_ns);
    if (requests_held || idle_ns <= 0 || idle_timer_runs) return;
    idle_timer_runs = true;
    at(idle_since_ns + (uint64_t)idle_ns, idle_timer, 0, 0);
}

static inline void flash_begin(uint64_t unit_number, uint64_t channel_number) {
    for (uint64_t i = 0; i < unit_count; i++)
        for (struct job *job; (job = units[i].first); free(job)) units[i].first = job->next;
    free(units);
    free(channel_free_ns);
    units = zeroed(unit_count = unit_number, sizeof *units);
    channel_free_ns = zeroed(channel_count = channel_number, sizeof *channel_free_ns);
    jobs_held = requests_held = 0;
    idle_works = idle_timer_runs = false;
    host_begin();
    variation_begin();
}
#endif
