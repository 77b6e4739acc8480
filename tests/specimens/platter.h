/* The mechanics of a disk: zoned recording, a serpentine layout, seeks, rotation.
 *
 * The model is that of Ruemmler and Wilkes (IEEE Computer 27(3), 1994) and DiskSim: a seek takes
 * a + b * sqrt(distance) up to a third of the cylinders and c + e * distance beyond, a change of the
 * head costs a time of its own, and the platter turns on meanwhile. Zones get fewer sectors a track
 * from the outside to the inside. In a zone the tracks of one surface follow each other for `run`
 * cylinders, then those of the next surface in the other direction, as serpentine layouts do; run=1 is
 * the classic layout by cylinders. Tracks are skewed by the time that changing to them takes. */
#ifndef SPECIMEN_PLATTER_H
#define SPECIMEN_PLATTER_H

#include "protocol.h"

#define SECTOR 512u

struct zone { uint64_t first_sector, sectors, track_sectors, first_cylinder; };
struct track { uint64_t cylinder, head, sectors; double begin_ns; /* when its first sector passes, in a turn */ uint64_t sector; };
struct head_stream { uint64_t sector, time_ns; }; /* the head comes to the begin of that sector at that time */

static struct {
    struct zone *zone;
    uint64_t zones, heads, cylinders, zone_cylinders, run, sectors;
    double rpm, turn_ns, track_seek_ns, third_seek_ns, full_seek_ns, head_switch_ns, settle_ns, track_skew_ns, head_skew_ns;
    double a, b, c, e;
} platter;

static struct { uint64_t cylinder, head; } arm;
static struct { uint64_t moves, sectors_read, sectors_written, retries; } media;

/* What the host or the cache wants of the platter, in sectors. */
enum told { AT_END, IN_CACHE, NEVER }; /* when the host has its completion */
struct access { uint64_t first, end, since_ns, number; uint32_t slot; bool write; enum told told; };
struct queue { struct access *one; size_t held, room; };

static inline uint64_t least(uint64_t x, uint64_t y) { return x < y ? x : y; }

static inline void insert(struct queue *to, size_t place, struct access one) {
    if (to->held == to->room) {
        to->room = 2 * to->room + 64;
        if (!(to->one = realloc(to->one, to->room * sizeof one))) fail("There is no memory for requests.");
    }
    memmove(to->one + place + 1, to->one + place, (to->held++ - place) * sizeof one);
    to->one[place] = one;
}

static inline void take_out(struct queue *from, size_t place, size_t count) {
    from->held -= count;
    memmove(from->one + place, from->one + place + count, (from->held - place) * sizeof *from->one);
}

static inline void tell(uint64_t time_ns, uint32_t slot) { complete_at(time_ns + (uint64_t)host.overhead_ns + jitter(), slot); }

static inline int by_first(const void *x, const void *y) {
    uint64_t a = ((const struct access *)x)->first, b = ((const struct access *)y)->first;
    return (a > b) - (a < b);
}

/* Says that these writes are lost, as ascending ranges. */
static inline void lose(struct queue *queue) {
    if (queue->held) qsort(queue->one, queue->held, sizeof *queue->one, by_first);
    for (size_t i = 0, next; i < queue->held; i = next) {
        uint64_t end = queue->one[i].end;
        for (next = i + 1; next < queue->held && queue->one[next].first <= end; next++)
            if (queue->one[next].end > end) end = queue->one[next].end;
        lost(queue->one[i].first * SECTOR, (end - queue->one[i].first) * SECTOR);
    }
    queue->held = 0;
}

static inline double seek_ns(uint64_t distance) {
    if (distance == 0) return 0;
    if (distance <= platter.cylinders / 3) return platter.a + platter.b * sqrt((double)distance);
    return platter.c + platter.e * (double)distance;
}

static inline void platter_parameters(uint64_t capacity_bytes, const char *rpm, const char *outer, const char *inner) {
    platter.rpm = number("rpm", rpm);
    platter.heads = (uint64_t)number("heads", "4");
    platter.zones = (uint64_t)number("zones", "16");
    platter.run = (uint64_t)number("run", "0"); /* cylinders of a surface in a row; 0: the whole zone */
    double outer_sectors = number("outer_sectors", outer), inner_sectors = number("inner_sectors", inner); /* of a track */
    platter.track_seek_ns = number("track_seek", "600us");
    platter.third_seek_ns = number("third_seek", "8500us"); /* over a third of the cylinders, about the mean */
    platter.full_seek_ns = number("full_seek", "17ms");
    platter.head_switch_ns = number("head_switch", "800us");
    platter.settle_ns = number("write_settle", "200us");    /* more for a write */
    platter.track_skew_ns = number("track_skew", "900us");
    platter.head_skew_ns = number("head_skew", "1100us");
    if (platter.rpm < 1 || !platter.heads || !platter.zones || inner_sectors < 1 || outer_sectors < inner_sectors)
        fail("rpm, heads, zones and inner_sectors are at least 1, and outer_sectors at least inner_sectors.");
    platter.turn_ns = 60e9 / platter.rpm;
    platter.zone = zeroed(platter.zones, sizeof *platter.zone);
    double cylinder_sectors = 0;
    for (uint64_t i = 0; i < platter.zones; i++) {
        double share = platter.zones > 1 ? (double)i / (double)(platter.zones - 1) : 0;
        platter.zone[i].track_sectors = (uint64_t)(outer_sectors + (inner_sectors - outer_sectors) * share);
        cylinder_sectors += (double)(platter.zone[i].track_sectors * platter.heads);
    }
    platter.zone_cylinders = (uint64_t)ceil((double)(capacity_bytes / SECTOR) / cylinder_sectors);
    platter.cylinders = platter.zone_cylinders * platter.zones;
    if (platter.cylinders < 10) fail("The capacity is too small for so many zones, heads and sectors.");
    if (platter.run == 0 || platter.run > platter.zone_cylinders) platter.run = platter.zone_cylinders;
    for (uint64_t i = 0; i < platter.zones; i++) {
        struct zone *zone = &platter.zone[i];
        zone->first_cylinder = i * platter.zone_cylinders;
        zone->first_sector = platter.sectors;
        zone->sectors = zone->track_sectors * platter.heads * platter.zone_cylinders;
        platter.sectors += zone->sectors;
    }
    double third = floor((double)platter.cylinders / 3), full = (double)platter.cylinders - 1;
    platter.b = (platter.third_seek_ns - platter.track_seek_ns) / (sqrt(third) - 1);
    platter.a = platter.track_seek_ns - platter.b;
    platter.e = (platter.full_seek_ns - platter.third_seek_ns) / (full - third);
    platter.c = platter.third_seek_ns - platter.e * third;
}

static inline struct track track_of(uint64_t sector) {
    uint64_t low = 0, high = platter.zones - 1;
    while (low < high) {
        uint64_t middle = (low + high + 1) / 2;
        if (platter.zone[middle].first_sector <= sector) low = middle; else high = middle - 1;
    }
    const struct zone *zone = &platter.zone[low];
    uint64_t track = (sector - zone->first_sector) / zone->track_sectors, of_run = platter.run * platter.heads;
    uint64_t run = track / of_run, rest = platter.zone_cylinders - run * platter.run;
    uint64_t length = rest < platter.run ? rest : platter.run; /* the last run of a zone can be shorter */
    uint64_t head = (track - run * of_run) / length, place = (track - run * of_run) % length;
    double along_ns = (double)length - 1, full_ns = (double)platter.run - 1;
    double run_ns = (double)platter.heads * full_ns * platter.track_skew_ns + ((double)platter.heads - 1) * platter.head_skew_ns +
                    seek_ns(platter.run) + platter.settle_ns + 100e3; /* the way to the next run */
    double skew_ns = (double)run * run_ns + (double)head * (along_ns * platter.track_skew_ns + platter.head_skew_ns) + (double)place * platter.track_skew_ns;
    return (struct track){
        .cylinder = zone->first_cylinder + run * platter.run + (head % 2 ? length - 1 - place : place), .head = head,
        .sectors = zone->track_sectors, .begin_ns = fmod(skew_ns, platter.turn_ns), .sector = (sector - zone->first_sector) % zone->track_sectors};
}

static inline double move_ns(const struct track *to, bool write) {
    uint64_t distance = to->cylinder > arm.cylinder ? to->cylinder - arm.cylinder : arm.cylinder - to->cylinder;
    double seek = seek_ns(distance), change = to->head != arm.head ? platter.head_switch_ns : 0;
    double longest = seek > change ? seek : change;
    return longest > 0 && write ? longest + platter.settle_ns : longest;
}

/* How long until the sector comes by, from that time on. */
static inline double turn_wait_ns(const struct track *to, double time_ns) {
    double target_ns = to->begin_ns + (double)to->sector * platter.turn_ns / (double)to->sectors;
    double wait_ns = fmod(target_ns - fmod(time_ns, platter.turn_ns) + 2 * platter.turn_ns, platter.turn_ns);
    return wait_ns > platter.turn_ns - 100 ? 0 : wait_ns; /* a rounding must not cost a turn */
}

/* When the head would be at that sector, without noise: what a scheduler expects. */
static inline double position_ns(uint64_t sector, bool write) {
    struct track to = track_of(sector);
    double moved_ns = (double)now_ns + move_ns(&to, write);
    return moved_ns + turn_wait_ns(&to, moved_ns);
}

/* Moves the head there, from that time on. */
static inline struct head_stream position(uint64_t from_ns, uint64_t sector, bool write) {
    struct track to = track_of(sector);
    double way_ns = move_ns(&to, write);
    if (way_ns > 0) media.moves++;
    double moved_ns = (double)after_housekeeping(from_ns) + (way_ns > 0 ? (double)varied(way_ns) : 0);
    arm.cylinder = to.cylinder;
    arm.head = to.head;
    return (struct head_stream){sector, (uint64_t)(moved_ns + turn_wait_ns(&to, moved_ns))};
}

/* Lets the sectors pass under the head, up to one or to a time, whichever is first. */
static inline void pass(struct head_stream *stream, uint64_t to_sector, uint64_t to_ns, bool write) {
    while (stream->sector < to_sector && stream->time_ns < to_ns) {
        struct track at_track = track_of(stream->sector);
        double sector_ns = platter.turn_ns / (double)at_track.sectors;
        uint64_t left = at_track.sectors - at_track.sector, count = to_sector - stream->sector;
        arm.cylinder = at_track.cylinder;
        arm.head = at_track.head;
        if (count > left) count = left;
        uint64_t end_ns = stream->time_ns + (uint64_t)((double)count * sector_ns);
        if (end_ns > to_ns) {
            count = (uint64_t)((double)(to_ns - stream->time_ns) / sector_ns);
            end_ns = stream->time_ns + (uint64_t)((double)count * sector_ns);
            to_ns = end_ns;
        }
        stream->sector += count;
        stream->time_ns = end_ns;
        if (write) media.sectors_written += count; else media.sectors_read += count;
        if (count == left && stream->sector < platter.sectors && stream->sector < to_sector) *stream = position(end_ns, stream->sector, write);
    }
}

/* Reads or writes sectors from that time on. Gives the head where it has done so. */
static inline struct head_stream transfer(uint64_t from_ns, uint64_t sector, uint64_t count, bool write) {
    struct head_stream stream = position(from_ns, sector, write);
    for (int again = 0; vary.retries > 0 && again < 8 && uniform() < vary.retries; again++) { /* a retry is a turn */
        stream.time_ns += (uint64_t)platter.turn_ns;
        media.retries++;
    }
    pass(&stream, sector + count, UINT64_MAX, write);
    return stream;
}

static inline void platter_begin(void) {
    arm.cylinder = arm.head = 0;
    variation_begin();
}
#endif
