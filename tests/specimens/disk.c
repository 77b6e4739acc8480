/* A hard disk: serpentine layout, zones, a queue with a scheduler, a segmented read cache with
 * read-ahead, and a write cache that is emptied by a scheduler of its own.
 *
 * The mechanics are in platter.h. The cache is the one that DiskSim's manual (Bucy et al., 2008) and
 * the product manuals of ATA disks describe: segments of equal size, the least recently used one is
 * taken; after a read the head goes on reading into its segment until that is full or another request
 * needs the head. Of the host's queue (NCQ, 32 deep) the disk takes the request with the shortest
 * positioning time (SPTF: Jacobson and Wilkes, HPL-CSP-91-7, 1991; Seltzer et al., 1990), the next one
 * upwards (C-LOOK), or the oldest; whoever has waited too long comes first. A write that does not
 * cover whole physical sectors costs a read and one more turn. */
#include "platter_truths.h"

enum { NONE = -1 };
enum order { FCFS, CLOOK, SPTF };

static struct {
    uint64_t capacity_bytes, physical, depth, segments, segment_sectors, cache_sectors, most_dirty, window, run_sectors;
    double age_ns, destage_ns, high;
    enum order order, destage_order;
    bool write_cache, read_ahead;
} is;

struct segment { uint64_t first, end, used; };

static struct queue queue, /* what needs the head, by arrival */
    delayed,  /* writes for which the cache has no room, by arrival */
    dirty,    /* in the write cache, by sector */
    flushes;  /* a flush waits for all writes that were made before it */
static struct segment *segments;
static int64_t reading_ahead; /* the segment */
static struct head_stream head; /* where the head is while it reads ahead, or after the last request */
static uint64_t head_to, dirty_sectors, destaging_sectors, arrived, uses, last_sector, free_since_ns;
static struct access destaging; /* what is being written from the cache; its number is that of the oldest in it */
static bool busy, timer_runs;
static struct { uint64_t hits, reads, destages, merged, broken; } did;

static void dispatch(uint64_t unused, uint64_t unused_too);

/* ---- The read cache. ---- */

/* How far the head has read ahead by now. */
static void look_at_read_ahead(void) {
    if (reading_ahead == NONE) return;
    struct segment *segment = &segments[reading_ahead];
    pass(&head, head_to, now_ns, false);
    segment->end = head.sector;
    if (segment->end - segment->first > is.segment_sectors) segment->first = segment->end - is.segment_sectors;
}

static struct segment *segment_with(uint64_t first, uint64_t end) {
    for (struct segment *one = segments; one < segments + is.segments; one++)
        if (one->first <= first && end <= one->end && first < end) {
            one->used = ++uses;
            return one;
        }
    return NULL;
}

static void forget_written(uint64_t first, uint64_t end) {
    look_at_read_ahead();
    for (int64_t i = 0; i < (int64_t)is.segments; i++) {
        bool overlaps = segments[i].first < end && first < segments[i].end, ahead = i == reading_ahead && first < head_to && segments[i].first < end;
        if (overlaps || ahead) segments[i] = (struct segment){0};
        if (ahead) reading_ahead = NONE;
    }
}

/* Whether the head, left where it is, comes to this without another move. */
static bool comes_ahead(const struct access *one) {
    return reading_ahead != NONE && !one->write && head.sector < head_to && segments[reading_ahead].first <= one->first && one->first <= head.sector;
}

/* A hit makes room in the segment that is being filled. */
static void read_further(uint64_t first, uint64_t end) {
    if (reading_ahead == NONE || !is.read_ahead) return;
    uint64_t to = least(first + is.segment_sectors, is.capacity_bytes / SECTOR);
    bool stopped = head.sector == head_to;
    if (end > head.sector || end < segments[reading_ahead].first || to < head_to + (stopped ? is.segment_sectors / 2 : 1)) return;
    if (stopped) head = position(now_ns, head.sector, false); /* it has gone by and must come again */
    head_to = to;
}

static void keep_reading(uint64_t first) {
    if (!is.segments) return;
    int64_t place = 0;
    for (int64_t i = 0; i < (int64_t)is.segments; i++) {
        if (segments[i].used && segments[i].first <= first && first <= segments[i].end) { place = i; break; } /* it goes on */
        if (segments[i].used < segments[place].used) place = i;
    }
    struct segment *one = &segments[place];
    if (!one->used || first < one->first || first > one->end) one->first = first;
    one->used = ++uses;
    one->end = head.sector;
    head_to = head.sector;
    if (is.read_ahead && first + is.segment_sectors > head_to) head_to = least(first + is.segment_sectors, is.capacity_bytes / SECTOR);
    reading_ahead = place;
    look_at_read_ahead();
}

/* ---- The write cache. ---- */

static size_t dirty_from(uint64_t sector) { /* the first that begins there or behind */
    size_t low = 0, high = dirty.held;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (dirty.one[middle].first < sector) low = middle + 1; else high = middle;
    }
    return low;
}

static bool is_dirty(uint64_t first, uint64_t end) {
    size_t place = dirty_from(first + 1);
    return place > 0 && end <= dirty.one[place - 1].end && first < end;
}

static bool accept_write(struct access one) {
    size_t place = dirty_from(one.first);
    bool again = place < dirty.held && dirty.one[place].first == one.first && dirty.one[place].end == one.end;
    uint64_t sectors = one.end - one.first;
    if (!again && dirty_sectors && (dirty_sectors + sectors > is.cache_sectors || dirty.held >= is.most_dirty)) return false;
    forget_written(one.first, one.end);
    if (!again) {
        insert(&dirty, place, one);
        dirty_sectors += sectors;
    }
    tell(now_ns, one.slot);
    return true;
}

static void look_at_flushes(void) {
    uint64_t oldest = destaging.number;
    for (size_t i = 0; flushes.held && i < dirty.held; i++) oldest = least(oldest, dirty.one[i].number);
    while (flushes.held && flushes.one[0].number < oldest) {
        tell(now_ns, flushes.one[0].slot);
        take_out(&flushes, 0, 1);
    }
}

/* ---- The head. ---- */

static void head_is_free(uint64_t read_from, uint64_t unused) {
    busy = false;
    free_since_ns = now_ns;
    destaging = (struct access){.number = UINT64_MAX};
    dirty_sectors -= destaging_sectors; /* they take room until they are on the platter */
    destaging_sectors = 0;
    if (read_from != UINT64_MAX) keep_reading(read_from);
    while (delayed.held && accept_write(delayed.one[0])) take_out(&delayed, 0, 1);
    look_at_flushes();
    dispatch(unused, unused);
}

/* A write of whole and of broken physical sectors. */
static struct head_stream write_out(uint64_t first, uint64_t end) {
    uint64_t from_ns = now_ns, whole = first / is.physical * is.physical;
    if (first % is.physical || end % is.physical) {
        from_ns = transfer(from_ns, whole, (end + is.physical - 1) / is.physical * is.physical - whole, false).time_ns;
        did.broken++;
    }
    return transfer(from_ns, whole, end - whole, true);
}

static void do_request(struct access one) {
    struct head_stream stream;
    if (one.write) {
        forget_written(one.first, one.end);
        stream = write_out(one.first, one.end);
    } else if (comes_ahead(&one)) {
        stream = head;
        pass(&stream, one.end, UINT64_MAX, false);
    } else {
        stream = transfer(now_ns, one.first, one.end - one.first, false);
        did.reads++;
    }
    reading_ahead = NONE;
    busy = true;
    head = stream;
    last_sector = one.end;
    uint64_t done_ns = stream.time_ns > now_ns ? stream.time_ns : now_ns;
    at(done_ns, head_is_free, one.write ? UINT64_MAX : one.first, 0);
    uint64_t told_ns = one.write ? done_ns : over_link(true, done_ns, (one.end - one.first) * SECTOR);
    tell(told_ns, one.slot);
}

/* Writes what is dirty there, and what follows it without a gap. */
static void destage(size_t place) {
    size_t next = place;
    uint64_t first = dirty.one[place].first, end = first;
    while (next < dirty.held && dirty.one[next].first <= end && (next == place || dirty.one[next].end - first <= is.run_sectors)) {
        if (dirty.one[next].end > end) end = dirty.one[next].end;
        destaging.number = least(destaging.number, dirty.one[next].number);
        destaging_sectors += dirty.one[next].end - dirty.one[next].first;
        next++;
    }
    destaging.first = first;
    destaging.end = end;
    did.destages++;
    did.merged += next - place - 1;
    take_out(&dirty, place, next - place);
    reading_ahead = NONE;
    busy = true;
    head = write_out(first, end);
    last_sector = end;
    at(head.time_ns, head_is_free, UINT64_MAX, 0);
}

/* How soon a scheduler wants it, the least first. */
static double rank(const struct access *one, enum order order) {
    if (order == FCFS) return 0;
    if (order == CLOOK) return (double)one->first + (one->first < last_sector ? 1e18 : 0);
    return comes_ahead(one) ? (double)head.time_ns : position_ns(one->first, one->write);
}

static bool waited_too_long(void) { return queue.held && (double)(now_ns - queue.one[0].since_ns) > is.age_ns; }

static int64_t best_in_queue(void) {
    int64_t best = NONE;
    double best_rank = 0;
    if (waited_too_long()) return 0;
    for (size_t i = 0; i < queue.held && i < is.depth; i++) {
        double this_rank = rank(&queue.one[i], is.order);
        if (best == NONE || this_rank < best_rank) best = (int64_t)i, best_rank = this_rank;
    }
    return best;
}

static size_t best_dirty(void) {
    size_t middle = dirty_from(last_sector), best = middle < dirty.held ? middle : 0;
    if (is.destage_order == CLOOK) return best;
    if (is.destage_order == FCFS) {
        for (size_t i = 0; i < dirty.held; i++)
            if (dirty.one[i].number < dirty.one[best].number) best = i;
        return best;
    }
    size_t from = middle > is.window / 2 ? middle - is.window / 2 : 0, to = least(from + is.window, dirty.held);
    from = to > is.window ? to - is.window : 0;
    best = from;
    double best_rank = rank(&dirty.one[from], SPTF);
    for (size_t i = from + 1; i < to; i++) {
        double this_rank = rank(&dirty.one[i], SPTF);
        if (this_rank < best_rank) best = i, best_rank = this_rank;
    }
    return best;
}

static void timer(uint64_t unused, uint64_t unused_too) {
    timer_runs = false;
    dispatch(unused, unused_too);
}

static void dispatch(uint64_t unused, uint64_t unused_too) {
    (void)unused, (void)unused_too;
    if (busy) return;
    look_at_read_ahead();
    int64_t next = best_in_queue();
    bool full = delayed.held || flushes.held || (double)dirty_sectors > is.high * (double)is.cache_sectors || (double)dirty.held > is.high * (double)is.most_dirty;
    if (dirty.held && full && !waited_too_long()) {
        size_t place = best_dirty();
        if (next == NONE || position_ns(dirty.one[place].first, true) < position_ns(queue.one[next].first, queue.one[next].write)) {
            destage(place);
            return;
        }
    }
    if (next != NONE) {
        struct access one = queue.one[next];
        take_out(&queue, (size_t)next, 1);
        do_request(one);
    } else if (dirty.held && (double)(now_ns - free_since_ns) >= is.destage_ns) {
        destage(best_dirty());
    } else if (dirty.held && !timer_runs) {
        timer_runs = true;
        at(free_since_ns + (uint64_t)is.destage_ns, timer, 0, 0);
    }
}

/* ---- Requests. ---- */

static void arrive(const struct record *request) {
    struct access one = {.first = request->offset_bytes / SECTOR, .end = (request->offset_bytes + request->length_bytes + SECTOR - 1) / SECTOR,
                          .since_ns = now_ns, .number = ++arrived, .slot = request->slot, .write = request->kind == WRITE};
    look_at_read_ahead();
    if (request->kind == FLUSH) {
        insert(&flushes, flushes.held, one);
        look_at_flushes();
    } else if (one.first == one.end) {
        tell(now_ns, one.slot);
    } else if (one.write && is.write_cache && !(request->flags & FUA)) {
        if (delayed.held || !accept_write(one)) insert(&delayed, delayed.held, one);
    } else if (!one.write && (is_dirty(one.first, one.end) || segment_with(one.first, one.end))) {
        did.hits++;
        read_further(one.first, one.end);
        tell(over_link(true, now_ns, request->length_bytes), one.slot);
    } else {
        insert(&queue, queue.held, one);
    }
    dispatch(0, 0);
}

static void begin(void) {
    queue.held = delayed.held = dirty.held = flushes.held = 0;
    free(segments);
    segments = zeroed(is.segments, sizeof *segments);
    reading_ahead = NONE;
    head = (struct head_stream){0, now_ns};
    destaging = (struct access){.number = UINT64_MAX};
    dirty_sectors = destaging_sectors = last_sector = 0;
    busy = timer_runs = false;
    free_since_ns = now_ns;
    host_begin();
    platter_begin();
}

/* The write cache is lost, with what was on its way to the platter. */
static void power_cut(void) {
    if (destaging.first < destaging.end) insert(&dirty, 0, destaging);
    lose(&dirty);
    events_held = 0;
    begin();
}

static void truths(void) {
    uint64_t last = is.capacity_bytes / SECTOR, entries_bytes = is.most_dirty * 16384; /* of a burst of 16 KiB each */
    bool ahead = is.read_ahead && is.segments, reorders = is.order != FCFS && is.depth > 1;
    double segment_bytes = (double)(is.segment_sectors * SECTOR);
    truths_of_drive("disk", is.write_cache);
    platter_truths(0, last);
    platter_read_truths(0, last);
    item("physical_sector_bytes", (double)(is.physical * SECTOR));
    item("partial_sector_penalty", is.physical > 1 ? (platter.turn_ns - platter.settle_ns) * 1e-9 : 0); /* the arm settles for a read */
    item("reordering", reorders);
    if (reorders || is.depth == 1) item("command_queue_depth", (double)is.depth);
    item("read_ahead", ahead);
    if (!ahead) item("read_ahead_streams", 0);
    else if (is.segments <= 16) item("read_ahead_streams", (double)is.segments); /* as many as are tried */
    if (ahead) item("read_ahead_bytes", segment_bytes);
    if (ahead || !is.segments) item("read_cache_bytes", (double)is.segments * segment_bytes);
    if (ahead) platter_rate_truths(0, last);
    if (!is.write_cache) item("write_buffer_bytes", 0);
    else if (entries_bytes >= is.cache_sectors * SECTOR) item("write_buffer_bytes", (double)(is.cache_sectors * SECTOR));
    if (!is.write_cache) item("flush_cost", command_s());
    if (!is.write_cache && is.physical == 1) platter_write_truths(0, last);
}

static void design(void) {
    platter_design();
    item("physical_sector_bytes", (double)(is.physical * SECTOR));
    item("read_cache_segments", (double)is.segments);
}

static void counters(void) {
    item("read_cache_hits", (double)did.hits);
    item("media_reads", (double)did.reads);
    item("destages", (double)did.destages);
    item("merged_writes", (double)did.merged);
    item("broken_sector_writes", (double)did.broken);
    item("head_moves", (double)media.moves);
    item("sectors_read", (double)media.sectors_read);
    item("sectors_written", (double)media.sectors_written);
    item("read_retries", (double)media.retries);
}

static enum order order_named(const char *key, const char *otherwise) {
    static const char *const names[] = {"fcfs", "clook", "sptf"};
    const char *name = text(key, otherwise);
    for (int i = FCFS; i <= SPTF; i++)
        if (!strcmp(name, names[i])) return (enum order)i;
    fail("%s=%s is none of fcfs, clook and sptf.", key, name);
}

int main(int count, char **values) {
    arguments(count, values);
    is.capacity_bytes = (uint64_t)number("capacity", "500e9") / 4096 * 4096;
    platter_parameters(is.capacity_bytes, "7200", "2400", "1200");
    is.physical = (uint64_t)number("physical", "4096") / SECTOR;     /* bytes of a physical sector */
    is.depth = (uint64_t)number("queue", "32");                      /* requests that the scheduler sees */
    is.order = order_named("scheduler", "sptf");
    is.age_ns = number("age", "500ms");                              /* who has waited so long comes first */
    is.segments = (uint64_t)number("segments", "16");                /* of the read cache; 0: none */
    is.segment_sectors = (uint64_t)number("segment", "512K") / SECTOR;
    is.read_ahead = number("read_ahead", "1") != 0;
    is.write_cache = number("write_cache", "1") != 0;
    is.cache_sectors = (uint64_t)number("write_cache_bytes", "8M") / SECTOR;
    is.most_dirty = (uint64_t)number("most_dirty", "512");           /* entries of the write cache */
    is.high = number("high", "0.5");                                 /* how full it is when writes compete with reads */
    is.destage_order = order_named("destage", "clook");
    is.destage_ns = number("destage_after", "20ms");                 /* of idle time */
    is.window = (uint64_t)number("destage_window", "32");            /* entries that SPTF looks at */
    is.run_sectors = (uint64_t)number("destage_run", "1M") / SECTOR; /* at most, in one write */
    host_parameters("300e6", "half", "50us", "20us");
    variation_parameters();
    if (!is.physical || !is.depth || !is.window || !is.segment_sectors || !is.most_dirty) fail("physical, queue, segment, most_dirty and destage_window are at least 1.");
    serve(&(struct drive){
        .name = "Serpentine disk", .summary = "Zoned disk with a serpentine layout, segmented cache and scheduler",
        .capacity_bytes = is.capacity_bytes, .keeps_nothing = true, .begin = begin, .arrive = arrive,
        .truths = truths, .design = design, .counters = counters, .power_cut = power_cut});
}
