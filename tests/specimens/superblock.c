/* (b) A superblock SSD with a volatile write buffer, as consumer drives of the 2010s were built.
 *
 * The same block of every plane of every die is one superblock; it is written in stripes over all
 * dies, erased whole and collected whole. Host data and collected data go to superblocks of their
 * own (streams, as in Stoica and Ailamaki, VLDB 2013). The victim is the one of best cost-benefit
 * (Rosenblum and Ousterhout, SOSP 1991; Kawaguchi et al., USENIX 1995). Writes end up in a buffer
 * in DRAM that merges overwrites and evicts what was not written for the longest time (LRU, as the
 * baseline of BPLRU, Kim and Ahn, FAST 2008); it writes out when it is fuller than a share, at a
 * flush, and at the ticks of a timer. With `parity` one die of each stripe holds the parity of the
 * others. A die is free while its data leave over the channel (cache register). */
#include "truths.h"

enum { NONE = UINT32_MAX, MOST_UNITS = 128, HOST = 0, COLLECTION = 1 };

#include "superblock_flash.h"

/* ---- The buffer: entries in order of their last write, and those being programmed. ---- */

struct entry { uint32_t unit, newer, older; uint64_t order; };
static struct entry *entries;
static uint32_t *entry_of, entry_count, entries_free, newest, oldest, dirty, held; /* held: dirty or being programmed */
static uint32_t forced;              /* so many are to be written out, whatever the fill */
static bool tick_planned;
static uint64_t orders;
static struct flush { uint32_t slot; uint64_t order; uint32_t left; } *flushes;
static uint32_t flushes_held;
static struct writing { uint32_t next_unit, end_unit, follower; bool through; } *writings; /* by slot */
static uint32_t writings_room, first_waiting = NONE, last_waiting; /* those that wait for room */

static void unlink_entry(uint32_t number) {
    struct entry *entry = &entries[number];
    if (entry->newer == NONE) newest = entry->older;
    else entries[entry->newer].older = entry->older;
    if (entry->older == NONE) oldest = entry->newer;
    else entries[entry->older].newer = entry->newer;
    dirty--;
}

static void link_newest(uint32_t number) {
    entries[number].newer = NONE;
    entries[number].older = newest;
    if (newest == NONE) oldest = number;
    else entries[newest].newer = number;
    newest = number;
    dirty++;
}

static void release(uint32_t number) { /* its data are durable or not wanted any more */
    struct entry *entry = &entries[number];
    if (entry_of[entry->unit] == number) entry_of[entry->unit] = NONE;
    for (uint32_t f = 0; f < flushes_held;) {
        if (entry->order >= flushes[f].order || --flushes[f].left) {
            f++;
            continue;
        }
        piece_done(flushes[f].slot, now_ns);
        flushes[f] = flushes[--flushes_held];
    }
    entry->older = entries_free;
    entries_free = number;
    held--;
}

static bool is_dirty(uint32_t number) { return number != NONE && (number == newest || entries[number].newer != NONE); }

static void tick(uint64_t a, uint64_t b);
static void pump(void);

static void plan_tick(void) {
    if (tick_planned || !dirty || with.flush_every_ns <= 0) return;
    tick_planned = true;
    at((uint64_t)((floor((double)now_ns / with.flush_every_ns) + 1) * with.flush_every_ns), tick, 0, 0);
}

static void tick(uint64_t a, uint64_t b) {
    (void)a, (void)b;
    tick_planned = false;
    forced = dirty;
    plan_tick();
    pump();
}

static bool buffer_unit(uint32_t unit) {
    uint32_t number = entry_of[unit];
    if (is_dirty(number)) {
        if (!flushes_held) unlink_entry(number), link_newest(number); /* a flush waits for this order */
    } else {
        if (entries_free == NONE) return false;
        number = entries_free;
        entries_free = entries[number].older;
        entries[number].unit = unit;
        entries[number].order = orders++;
        entry_of[unit] = number;
        held++;
        link_newest(number);
    }
    host_units++;
    return true;
}

static void wait_for_flash(uint32_t slot) { /* for all that is in the buffer now */
    if (!held) {
        piece_done(slot, now_ns);
        return;
    }
    if (!(flushes = realloc(flushes, (flushes_held + 1) * sizeof *flushes))) fail("There is no memory for flushes.");
    flushes[flushes_held++] = (struct flush){slot, orders++, held};
    forced = dirty;
}

static void admit(void) { /* what is admitted whole is acknowledged */
    for (; first_waiting != NONE; first_waiting = writings[first_waiting].follower) {
        struct writing *writing = &writings[first_waiting];
        while (writing->next_unit < writing->end_unit && buffer_unit(writing->next_unit)) writing->next_unit++;
        if (writing->next_unit < writing->end_unit) break;
        piece_done(first_waiting, now_ns);
        if (writing->through) wait_for_flash(first_waiting);
    }
    plan_tick();
}

/* ---- Programs of the host's data, and collection. ---- */

struct job { uint32_t count, reads_left, from[MOST_UNITS], units[MOST_UNITS], slice; }; /* a slice on its way */
static struct job *jobs;
static uint32_t *jobs_idle, jobs_idle_held, jobs_made, victim = NONE, victim_unit, moving;
static uint64_t paced_host, paced_moved, victim_valid; /* slices since the victim was chosen; its units then */

static uint32_t new_job(void) {
    if (!jobs_idle_held) fail("There are more slices on their way than dies.");
    uint32_t number = jobs_idle[--jobs_idle_held];
    jobs[number].count = jobs[number].reads_left = 0;
    return number;
}

static void host_programmed(uint64_t number, uint64_t b) {
    (void)b;
    struct job *job = &jobs[number];
    for (uint32_t i = 0; i < job->count; i++) release(job->from[i]);
    die_host_programs[die_of(job->slice)]--;
    jobs_idle[jobs_idle_held++] = (uint32_t)number;
    admit();
    pump();
}

static bool write_out(void) { /* a slice of what was not written for the longest time; false: not now */
    if (forced > dirty) forced = dirty;
    if (!forced && (dirty < slice_units || (first_waiting == NONE && dirty <= with.flush_above * entry_count))) return false;
    if (victim != NONE && (!with.paced || paced_host * victim_valid > paced_moved * (superblock_units - victim_valid))) return false;
    if (!has_place(HOST) || die_host_programs[die_of(streams[HOST].slice)]) return false;
    uint32_t number = new_job(), units[MOST_UNITS];
    struct job *job = &jobs[number];
    for (; job->count < slice_units && dirty; job->count++) {
        job->from[job->count] = oldest;
        units[job->count] = entries[oldest].unit;
        unlink_entry(job->from[job->count]);
        entries[job->from[job->count]].newer = NONE;
        forced -= forced > 0;
    }
    uint64_t end_ns;
    job->slice = append(HOST, units, job->count, &end_ns);
    die_host_programs[die_of(job->slice)]++;
    paced_host++;
    at(end_ns, host_programmed, number, 0);
    return true;
}

static void erased(uint64_t number, uint64_t b) {
    (void)b;
    superblock_of[number].free = true;
    free_superblocks++;
    erased_superblocks++;
    victim = NONE;
    pump();
}

static void choose_victim(void) {
    double best = 0;
    for (uint32_t i = 0; i < superblocks; i++) {
        struct superblock *one = &superblock_of[i];
        if (one->free || i == streams[HOST].superblock || i == streams[COLLECTION].superblock) continue;
        double used = (double)one->valid / superblock_units;
        double worth = (1 - used) / (1 + used) * (double)(written_units - one->closed_at + 1);
        if (one->valid <= (data_slices - 1) * slice_units && worth > best) best = worth, victim = i;
    }
    victim_unit = 0;
    paced_host = paced_moved = 0;
    victim_valid = victim == NONE ? 0 : superblock_of[victim].valid;
}

static void moved(uint64_t number, uint64_t b) {
    (void)b;
    jobs_idle[jobs_idle_held++] = (uint32_t)number;
    moving--;
    pump();
}

static void read_for_moving(uint64_t number, uint64_t b) {
    struct job *job = &jobs[number];
    if (--job->reads_left) return;
    uint32_t units[MOST_UNITS], count = 0;
    for (uint32_t i = 0; i < job->count; i++) /* what the host has written again since stays away */
        if (where[job->units[i]] == job->from[i]) units[count++] = job->units[i];
    uint64_t end_ns = now_ns;
    if (count) {
        if (!has_place(COLLECTION)) fail("Collection ran out of superblocks.");
        append(COLLECTION, units, count, &end_ns);
    }
    at(end_ns, moved, number, b);
}

static void sensed_for_moving(uint64_t number, uint64_t die) {
    at(over_channel((uint32_t)die, now_ns, slice_bytes()), read_for_moving, number, 0);
}

static bool move(void) { /* begins to move a slice full of the victim's units; false: not now */
    if (victim == NONE && free_superblocks < with.gc_free) choose_victim();
    if (victim == NONE || victim_unit > superblock_units || moving >= all_dies) return false;
    uint32_t number = new_job(), last = NONE;
    struct job *job = &jobs[number];
    for (; victim_unit < superblock_units && job->count < slice_units; victim_unit++) {
        uint32_t from = victim * superblock_units + victim_unit;
        if (owner[from] == NONE) continue;
        job->from[job->count] = from;
        job->units[job->count++] = owner[from];
        if (slice_of(from) == last) continue;
        last = slice_of(from);
        job->reads_left++;
        at(reserve(&die_free_ns[die_of(last)], after_housekeeping(now_ns), varied_read(with.read_ns)), sensed_for_moving, number, die_of(last));
    }
    if (job->count) {
        moving++;
        paced_moved++;
        return true;
    }
    jobs_idle[jobs_idle_held++] = number;
    if (moving) return false;
    victim_unit = superblock_units + 1; /* all is moved: erase it on every die */
    uint64_t end_ns = now_ns;
    for (uint32_t die = 0; die < all_dies; die++) {
        uint64_t die_ns = reserve(&die_free_ns[die], after_housekeeping(now_ns), varied(with.erase_ns));
        if (die_ns > end_ns) end_ns = die_ns;
    }
    at(end_ns, erased, victim, 0);
    return false;
}

static void pump(void) {
    for (bool going = true; going;) {
        going = move();
        going |= write_out();
    }
}

/* ---- Requests. ---- */

static void read_over_channel(uint64_t slot, uint64_t bytes) {
    piece_done((uint32_t)slot, arrivals[slot].kind == READ ? over_link(true, now_ns, bytes) : now_ns);
}

static void sensed(uint64_t slot, uint64_t die_and_bytes) {
    uint64_t bytes = die_and_bytes & UINT32_MAX;
    at(over_channel((uint32_t)(die_and_bytes >> 32), now_ns, bytes), read_over_channel, slot, bytes);
}

static void read_slice(uint32_t slot, uint32_t slice, uint64_t bytes) {
    uint32_t die = die_of(slice);
    requests[slot].pieces++;
    at(reserve(&die_free_ns[die], after_housekeeping(now_ns), varied_read(with.read_ns)), sensed, slot, (uint64_t)die << 32 | bytes);
}

static void read_units(const struct record *request) { /* units that lie side by side in a slice are one read */
    uint64_t begin = request->offset_bytes, end = begin + request->length_bytes, bytes = 0, from_buffer = 0;
    uint32_t slice = NONE;
    for (uint64_t unit = begin / with.unit_bytes; unit * with.unit_bytes < end; unit++) {
        uint64_t from = unit * with.unit_bytes, to = from + with.unit_bytes;
        uint64_t part = (to < end ? to : end) - (from > begin ? from : begin);
        bool in_flash = entry_of[unit] == NONE && where[unit] != NONE;
        uint32_t here = in_flash ? slice_of(where[unit]) : NONE;
        if (!in_flash) from_buffer += part; /* or was never written */
        if (here != slice && slice != NONE) read_slice(request->slot, slice, bytes), bytes = 0;
        slice = here;
        bytes += in_flash ? part : 0;
    }
    if (slice != NONE) read_slice(request->slot, slice, bytes);
    piece_done(request->slot, from_buffer ? over_link(true, now_ns, from_buffer) : now_ns);
}

static void write_units(const struct record *request) {
    uint64_t begin = request->offset_bytes, end = begin + request->length_bytes, size = with.unit_bytes;
    uint32_t first = (uint32_t)(begin / size), last = (uint32_t)((end + size - 1) / size);
    uint32_t edges[2] = {first, last - 1};
    bool cut[2] = {begin % size != 0, end % size != 0 && last > first};
    for (int i = 0; i < 2; i++) /* of units that are written in part the rest is read first */
        if (cut[i] && entry_of[edges[i]] == NONE && where[edges[i]] != NONE && !(i && cut[0] && edges[0] == edges[1]))
            read_slice(request->slot, slice_of(where[edges[i]]), size);
    if (request->slot >= writings_room) {
        writings_room = 2 * request->slot + 64;
        if (!(writings = realloc(writings, writings_room * sizeof *writings))) fail("There is no memory for writes.");
    }
    writings[request->slot] = (struct writing){first, last, NONE, request->flags & FUA};
    if (first_waiting == NONE) first_waiting = request->slot;
    else writings[last_waiting].follower = request->slot;
    last_waiting = request->slot;
    admit();
}

static void trim_units(uint64_t begin, uint64_t end) { /* those that lie in it whole */
    for (uint64_t unit = (begin + with.unit_bytes - 1) / with.unit_bytes; (unit + 1) * with.unit_bytes <= end; unit++) {
        uint32_t number = entry_of[unit];
        if (is_dirty(number)) {
            unlink_entry(number);
            release(number);
        }
        entry_of[unit] = NONE;
        forget((uint32_t)unit);
    }
}

static void arrive(const struct record *request) {
    open_request(request->slot, request->kind == WRITE && request->flags & FUA ? 2 : 1);
    if (request->kind == READ) {
        read_units(request);
    } else if (request->kind == WRITE) {
        write_units(request);
    } else if (request->kind == FLUSH) {
        wait_for_flash(request->slot);
    } else {
        trim_units(request->offset_bytes, request->offset_bytes + request->length_bytes);
        piece_done(request->slot, now_ns);
        admit();
    }
    pump();
}

/* ---- The drive. ---- */

static void empty_buffer(void) {
    memset(entry_of, 0xff, logical_units * sizeof *entry_of);
    newest = oldest = entries_free = first_waiting = NONE;
    dirty = held = forced = flushes_held = 0;
    for (uint32_t i = 0; i < entry_count; i++) entries[i].older = entries_free, entries_free = i;
    tick_planned = false;
}

/* Nothing is under way, in no die and on no channel. */
static void come_to_rest(void) {
    events_held = 0;
    empty_buffer();
    memset(die_free_ns, 0, all_dies * sizeof *die_free_ns);
    memset(channel_free_ns, 0, with.channels * sizeof *channel_free_ns);
    memset(die_host_programs, 0, all_dies * sizeof *die_host_programs);
    victim = NONE;
    moving = jobs_idle_held = 0;
    while (jobs_idle_held < jobs_made) jobs_idle[jobs_idle_held] = jobs_idle_held, jobs_idle_held++;
}

static void begin(void) {
    host_begin();
    variation_begin();
    come_to_rest();
    memset(where, 0xff, logical_units * sizeof *where);
    memset(owner, 0xff, (size_t)superblocks * superblock_units * sizeof *owner);
    for (uint32_t i = 0; i < superblocks; i++) superblock_of[i] = (struct superblock){.free = true};
    streams[HOST].superblock = streams[COLLECTION].superblock = NONE;
    free_superblocks = superblocks;
    next_free = 0;
}

static void power_cut(void) { /* what was in the buffer, or on its way into flash, is lost */
    for (uint32_t unit = 0; unit < logical_units; unit++)
        if (entry_of[unit] != NONE) lost(unit * with.unit_bytes, with.unit_bytes);
    come_to_rest();
}

static uint64_t programmed_bytes(void) { return programmed_slices * slice_bytes(); }

static void counters(void) {
    item("erased_superblocks", (double)erased_superblocks);
    item("programmed_slices", (double)programmed_slices);
    item("host_units", (double)host_units);
}

static void truths_of_cells(void) {
    item("page_read_time", with.read_ns * 1e-9);
    item("program_time", with.program_ns * 1e-9);
    item("erase_time", with.erase_ns * 1e-9);
    item("pages_per_block", with.block_pages);
}

static void truths(void) {
    double data_units = (double)data_slices * slice_units, kept = with.flush_every_ns > 0 ? 0 : with.flush_above;
    truths_of_drive("page-mapped", true);
    truths_of_flash(false, (double)with.unit_bytes);
    truths_of_cells();
    truths_of_collection((superblocks - with.gc_free) * data_units / logical_units - 1, false);
    item("channels", with.channels);
    item("dies", all_dies);
    item("planes_per_die", 1); /* reads of a die are one after the other */
    item("parallel_units", all_dies);
    item("page_bytes", (double)slice_bytes()); /* a die reads from all of its planes at once */
    item("stripe_bytes", (double)slice_bytes());
    item("placement_by_address", 0);
    item("mapping_unit", (double)with.unit_bytes);
    item("superblock_bytes", data_units * (double)with.unit_bytes); /* of the host's data: parity is not seen */
    if (kept == 0) item("write_buffer_bytes", (double)with.buffer_bytes); /* else a part of it is never empty */
    item("slc_cache_bytes", 0);
    if (vary.housekeeping_every_ns <= 0) item("flush_cost", command_s() + flushed_s());
}

static void design(void) {
    double flash_units = (double)superblocks * data_slices * slice_units;
    item("parity", with.parity);
    item("physical_bytes", flash_units * (double)with.unit_bytes); /* that hold data */
    item("spare_share", flash_units / logical_units - 1);
    item("spare_superblocks_kept", with.gc_free);
    item("write_buffer_kept_dirty_share", with.flush_above);
    item("flush_every_ns", with.flush_every_ns);
}

static void read_parameters(void) {
    with.capacity_bytes = (uint64_t)number("capacity", "4G");
    with.channels = (uint32_t)number("channels", "4");
    with.dies = (uint32_t)number("dies", "2");               /* on a channel */
    with.planes = (uint32_t)number("planes", "2");           /* in a die, programmed at once */
    with.page_bytes = (uint64_t)number("page", "16K");
    with.unit_bytes = (uint64_t)number("unit", "4K");        /* that the mapping maps */
    with.block_pages = (uint32_t)number("block_pages", "64");
    with.spare = number("spare", "0.1");                     /* more flash for data than capacity, as a share of the capacity */
    with.parity = number("parity", "0") != 0;
    with.read_ns = number("read", "60us");
    with.program_ns = number("program", "900us");
    with.erase_ns = number("erase", "4ms");
    with.ns_per_byte = 1e9 / number("channel_rate", "400e6"); /* bytes a second */
    with.buffer_bytes = (uint64_t)number("buffer", "8M");
    with.flush_above = number("flush_above", "0.5");         /* of the buffer dirty begins to write out */
    with.flush_every_ns = number("flush_every", "1s");       /* all is written out; 0: never by time */
    with.gc_free = (uint32_t)number("gc_free", "3");         /* fewer free superblocks begin collection */
    with.paced = number("paced", "0") != 0;                  /* the host goes on while a superblock is collected */
    host_parameters("540e6", "half", "25us", "2us");
    variation_parameters();
}

static void lay_out(void) {
    all_dies = with.channels * with.dies;
    bool whole = with.unit_bytes && with.page_bytes % with.unit_bytes == 0 && with.capacity_bytes % with.unit_bytes == 0;
    slice_units = whole ? (uint32_t)(slice_bytes() / with.unit_bytes) : 0;
    superblock_slices = all_dies * with.block_pages;
    superblock_units = superblock_slices * slice_units;
    data_slices = superblock_slices - (with.parity ? with.block_pages : 0);
    logical_units = whole ? (uint32_t)(with.capacity_bytes / with.unit_bytes) : 0;
    entry_count = whole ? (uint32_t)(with.buffer_bytes / with.unit_bytes) : 0;
    if (!data_slices || !slice_units || slice_units > MOST_UNITS || !logical_units || (with.parity && all_dies < 2))
        fail("The geometry is impossible: whole units in a page, at most %d in a slice, two dies for parity.", MOST_UNITS);
    if (entry_count < slice_units * all_dies) fail("The buffer is smaller than a page of every plane.");
    double needed = (double)logical_units / ((double)data_slices * slice_units);
    superblocks = (uint32_t)ceil((1 + with.spare) * needed);
    /* Some superblock must always have a slice to gain, even if what is invalid lies evenly in all. */
    double least = with.gc_free + 2 + superblocks / (double)data_slices;
    if (with.gc_free < 2 || superblocks - needed < least)
        fail("The spare area is too small: it needs gc_free (at least 2), two and a slice of each more superblocks: %.0f.", ceil(least));
}

int main(int count, char **values) {
    arguments(count, values);
    read_parameters();
    lay_out();
    where = zeroed(logical_units, sizeof *where);
    entry_of = zeroed(logical_units, sizeof *entry_of);
    owner = zeroed((size_t)superblocks * superblock_units, sizeof *owner);
    superblock_of = zeroed(superblocks, sizeof *superblock_of);
    entries = zeroed(entry_count, sizeof *entries);
    die_free_ns = zeroed(all_dies, sizeof *die_free_ns);
    channel_free_ns = zeroed(with.channels, sizeof *channel_free_ns);
    die_host_programs = zeroed(all_dies, sizeof *die_host_programs);
    jobs_made = 2 * all_dies + 1;
    jobs = zeroed(jobs_made, sizeof *jobs);
    jobs_idle = zeroed(jobs_made, sizeof *jobs_idle);
    serve(&(struct drive){
        .name = "Superblock",
        .summary = "Superblocks with streams for host and collection, behind a volatile write buffer.",
        .capacity_bytes = with.capacity_bytes, .can_trim = true, .begin = begin, .arrive = arrive,
        .programmed_bytes = programmed_bytes, .truths = truths, .design = design, .counters = counters, .power_cut = power_cut});
}
