/* What is true of the mechanics of platter.h: of a drive whose data lie on the sectors of the platter
 * from `first` up to `end`. A change of track costs a host what the tracks are skewed by. */
#ifndef SPECIMEN_PLATTER_TRUTHS_H
#define SPECIMEN_PLATTER_TRUTHS_H

#include "platter.h"
#include "truths.h"

static inline const struct zone *zone_of(uint64_t sector) {
    const struct zone *zone = &platter.zone[platter.zones - 1];
    while (zone > platter.zone && zone->first_sector > sector) zone--;
    return zone;
}

/* How many zones the data lie in; 0 where so little lies in one of them that nobody finds it. */
static inline uint64_t zones_with_data(uint64_t first, uint64_t end) {
    uint64_t count = 0;
    for (const struct zone *zone = platter.zone; zone < platter.zone + platter.zones; zone++) {
        uint64_t from = zone->first_sector > first ? zone->first_sector : first, to = least(zone->first_sector + zone->sectors, end);
        if (from >= to) continue;
        if ((to - from) * 50 < end - first) return 0;
        count++;
    }
    return count;
}

static inline double next_run_ns(void) { return seek_ns(platter.run) + platter.settle_ns + 100e3; }

static inline double bytes_per_s(const struct zone *zone) {
    double heads = (double)platter.heads, run = (double)platter.run;
    double skews_ns = heads * (run - 1) * platter.track_skew_ns + (heads - 1) * platter.head_skew_ns + next_run_ns();
    return (double)(zone->track_sectors * SECTOR) * 1e9 / (platter.turn_ns + skews_ns / (run * heads));
}

/* Between two sectors at random, and what a byte takes, of the platter and then of the link. */
static inline void random_access(uint64_t first, uint64_t end, double *seek_mean_ns, double *byte_ns) {
    enum { PLACES = 256 };
    uint64_t cylinder[PLACES];
    *seek_mean_ns = 0;
    *byte_ns = host.ns_per_byte;
    for (uint64_t i = 0; i < PLACES; i++) {
        uint64_t sector = first + (uint64_t)((double)(end - first) * ((double)i + 0.5) / PLACES);
        cylinder[i] = track_of(sector).cylinder;
        *byte_ns += 1e9 / bytes_per_s(zone_of(sector)) / PLACES;
    }
    for (uint64_t i = 0; i < PLACES * PLACES; i++) {
        uint64_t from = cylinder[i / PLACES], to = cylinder[i % PLACES];
        *seek_mean_ns += seek_ns(from > to ? from - to : to - from) / (PLACES * PLACES);
    }
}

static inline void platter_truths(uint64_t first, uint64_t end) {
    static const char *const of_flash[] = {
        "log_blocks", "dies", "channels", "parallel_units", "mapping_unit", "placement_by_address", "stripe_bytes", "page_bytes", "slc_cache_bytes"};
    double seek_mean_ns, byte_ns, ways = (double)(track_of(end - 1).cylinder - track_of(first).cylinder);
    uint64_t zones = zones_with_data(first, end);
    for (size_t i = 0; i < sizeof of_flash / sizeof *of_flash; i++) item(of_flash[i], 0);
    random_access(first, end, &seek_mean_ns, &byte_ns);
    item("rotation_rpm", platter.rpm);
    item("heads", (double)platter.heads);
    if (zones) item("zones", (double)zones);
    item("track_bytes", (double)(zone_of(first)->track_sectors * SECTOR));
    item("track_switch", (platter.run == 1 ? next_run_ns() : platter.track_skew_ns) * 1e-9);
    item("head_switch", platter.heads > 1 ? platter.head_skew_ns * 1e-9 : 0);
    item("seek_base", platter.track_seek_ns * 1e-9);
    item("seek_stroke", (seek_ns((uint64_t)ways) - platter.track_seek_ns) * 1e-9);
    item("seek_mean", seek_mean_ns * 1e-9);
}

/* Of reads over the whole disk. */
static inline void platter_read_truths(uint64_t first, uint64_t end) {
    double seek_mean_ns, byte_ns;
    random_access(first, end, &seek_mean_ns, &byte_ns);
    item("read_access_penalty", command_s() + (seek_mean_ns + platter.turn_ns / 2) * 1e-9);
    item("read_sequential_rate", 1e9 / byte_ns);
}

/* Of sequences that go on without losing a turn. */
static inline void platter_rate_truths(uint64_t first, uint64_t end) {
    item("outer_rate", bytes_per_s(zone_of(first)));
    item("inner_rate", bytes_per_s(zone_of(end - 1)));
}

/* Of writes that wait for the platter. */
static inline void platter_write_truths(uint64_t first, uint64_t end) {
    double seek_mean_ns, byte_ns;
    random_access(first, end, &seek_mean_ns, &byte_ns);
    item("write_access_penalty", command_s() + (seek_mean_ns + platter.settle_ns + platter.turn_ns / 2) * 1e-9);
    item("write_sequential_rate", 1e9 / byte_ns);
}

static inline void platter_design(void) {
    const struct zone *outer = &platter.zone[0], *inner = &platter.zone[platter.zones - 1];
    double outer_bytes = (double)(outer->track_sectors * SECTOR), inner_bytes = (double)(inner->track_sectors * SECTOR);
    item("turn_ms", platter.turn_ns / 1e6);
    item("cylinders", (double)platter.cylinders);
    item("tracks", (double)(platter.cylinders * platter.heads));
    item("run_cylinders", (double)platter.run);
    item("outer_track_bytes", outer_bytes);
    item("inner_track_bytes", inner_bytes);
    item("outer_bytes_per_s", outer_bytes * 1e9 / (platter.turn_ns + platter.track_skew_ns)); /* with changes of track */
    item("inner_bytes_per_s", inner_bytes * 1e9 / (platter.turn_ns + platter.track_skew_ns));
    item("track_seek_ms", platter.track_seek_ns / 1e6);
    item("third_stroke_seek_ms", platter.third_seek_ns / 1e6);
    item("full_stroke_seek_ms", platter.full_seek_ns / 1e6);
    item("mechanical_head_switch_ms", platter.head_switch_ns / 1e6);
    item("write_settle_ms", platter.settle_ns / 1e6);
}
#endif
