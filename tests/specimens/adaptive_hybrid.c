/* A hybrid FTL with adaptive logs, as in memory cards and in the first SSDs.
 *
 * Data blocks are mapped by block and log blocks by page. Each plane runs an FTL of its own over
 * every n-th stripe of the addresses, so the planes work in parallel. From the literature:
 *   - log blocks that belong to one logical block each, switch and full merges: BAST (Kim et al., IEEE
 *     Trans. Consumer Electronics 48(2), 2002);
 *   - log blocks shared by all logical blocks, and one log for sequential writes with its partial
 *     merge: FAST (Lee et al., ACM TECS 6(3), 2007);
 *   - at most K logical blocks share a log block, which bounds the longest stall: KAST (Cho et al.,
 *     DATE 2009);
 *   - K adapts to what the merges find, in the spirit of A-SAST (Koo and Shin, 2009): it doubles
 *     where logs are reclaimed unfilled (the thrashing of BAST), and halves where they are full and
 *     fewer than K / 2 logical blocks lived in them.
 * There is no write buffer: a write completes when it is programmed, and a flush costs nothing. */
#include "flash.h"
#include "truths.h"

enum { NOWHERE = -1, IN_DATA = -2, NOBODY = -1 };

static struct {
    uint64_t page_bytes, block_pages, planes, channels, stripe_pages, logs, sequential_logs;
    uint64_t most_shared, first_shared, window, plane_pages, plane_blocks;
    double read_ns, program_ns, erase_ns, unwritten_ns, bus_ns;
    bool copyback;
} is;

struct log {
    int64_t *page;     /* of which logical page each page is */
    uint64_t used, members, opened; /* members: logical blocks that are directed here */
    int64_t owner;     /* the one logical block of an ordered log */
    bool open, ordered; /* ordered: page i is page i of its owner, so it can become a data block */
};

struct plane {
    int64_t *where;    /* of each logical page: NOWHERE, IN_DATA, or log * block_pages + page */
    uint64_t *filled;  /* of each data block: the page from which it can still be programmed; 0: none */
    int64_t *directed; /* of each logical block: the random log that takes its writes, or NOBODY */
    struct log *log;   /* random logs, then sequential ones */
    uint64_t work_ns, shared, reclaimed, reclaimed_used, reclaimed_lived;
};

static struct plane *planes;
static uint64_t openings;
static struct { uint64_t programs, reads, erases, switches, partials, fulls; } did;

/* ---- Commands of a plane. ---- */

/* Internal work of a plane; the next job does it first. */
static void erase(struct plane *plane) { did.erases++; plane->work_ns += varied(is.erase_ns); }

/* A merge moves a page. Without copyback it goes to the controller and back. */
static void copy_page(struct plane *plane) {
    did.reads++;
    did.programs++;
    plane->work_ns += varied_read(is.read_ns) + varied(is.program_ns) + (is.copyback ? 0 : (uint64_t)(2 * is.bus_ns));
}

/* ---- Merges. ---- */

static void forget_log(struct plane *plane, struct log *log) {
    uint64_t number = (uint64_t)(log - plane->log);
    for (uint64_t i = 0; i < log->used && number < is.logs; i++) {
        int64_t *directed = &plane->directed[(uint64_t)log->page[i] / is.block_pages];
        if (*directed == (int64_t)number) *directed = NOBODY;
    }
    log->open = false;
    log->used = log->members = 0;
}

/* Moves what lives of a logical block, from that page on, into place. */
static void gather(struct plane *plane, uint64_t block, uint64_t from) {
    int64_t *where = plane->where + block * is.block_pages;
    plane->filled[block] = from;
    for (uint64_t i = from; i < is.block_pages; i++)
        if (where[i] != NOWHERE) {
            copy_page(plane);
            where[i] = IN_DATA;
            plane->filled[block] = i + 1;
        }
}

static void full_merge(struct plane *plane, uint64_t block) {
    bool had_data = plane->filled[block] > 0;
    gather(plane, block, 0);
    if (had_data) erase(plane);
    did.fulls++;
}

static bool all_live(const struct plane *plane, const struct log *log) {
    int64_t first = (log - plane->log) * (int64_t)is.block_pages;
    for (uint64_t i = 0; i < log->used; i++)
        if (plane->where[log->page[i]] != first + (int64_t)i) return false;
    return true;
}

/* Empties a log. Gives how many logical blocks lived in it. */
static uint64_t reclaim(struct plane *plane, struct log *log) {
    uint64_t lived = 0;
    if (log->ordered && all_live(plane, log)) { /* it becomes the data block: a switch, or a partial merge */
        uint64_t block = (uint64_t)log->owner, used = log->used, programs_before = did.programs;
        bool had_data = plane->filled[block] > 0;
        for (uint64_t i = 0; i < used; i++) plane->where[log->page[i]] = IN_DATA;
        gather(plane, block, used);
        if (plane->filled[block] < used) plane->filled[block] = used;
        if (had_data) erase(plane);
        if (did.programs == programs_before) did.switches++; else did.partials++;
        lived = 1;
    } else {
        int64_t first = (log - plane->log) * (int64_t)is.block_pages;
        for (uint64_t i = 0; i < log->used; i++)
            if (plane->where[log->page[i]] == first + (int64_t)i) {
                full_merge(plane, (uint64_t)log->page[i] / is.block_pages);
                lived++;
            }
        erase(plane);
    }
    forget_log(plane, log);
    return lived;
}

static struct log *oldest_log(const struct plane *plane, uint64_t from, uint64_t to, bool full_only) {
    struct log *oldest = NULL;
    for (struct log *log = plane->log + from; log < plane->log + to; log++)
        if (log->open && (!full_only || log->used == is.block_pages) && (!oldest || log->opened < oldest->opened)) oldest = log;
    return oldest;
}

static void reclaim_random(struct plane *plane, struct log *log) {
    plane->reclaimed_used += log->used;
    plane->reclaimed_lived += reclaim(plane, log);
    if (++plane->reclaimed < is.window) return;
    double share = (double)plane->reclaimed_used / (double)(is.window * is.block_pages);
    double lived = (double)plane->reclaimed_lived / (double)is.window;
    if (share < 0.9 && plane->shared < is.most_shared) plane->shared *= 2;
    else if (share >= 0.99 && lived < (double)plane->shared / 2 && plane->shared > 1) plane->shared /= 2;
    if (plane->shared > is.most_shared) plane->shared = is.most_shared;
    plane->reclaimed = plane->reclaimed_used = plane->reclaimed_lived = 0;
}

/* ---- Writes. ---- */

static struct log *open_log(struct log *log, uint64_t block) {
    *log = (struct log){.page = log->page, .opened = ++openings, .owner = (int64_t)block, .open = true, .ordered = true};
    return log;
}

/* The log that takes a page which cannot go in place. */
static struct log *log_for(struct plane *plane, uint64_t block, uint64_t place) {
    struct log *end = plane->log + is.logs + is.sequential_logs, *best = NULL;
    for (struct log *log = plane->log + is.logs; log < end; log++)
        if (log->open && log->owner == (int64_t)block && log->used == place) return log;
    if (place == 0 && is.sequential_logs) { /* FAST takes the first page of a block for the begin of a sequence */
        for (struct log *log = plane->log + is.logs; log < end && !best; log++)
            if (!log->open || log->owner == (int64_t)block) best = log;
        if (!best) best = oldest_log(plane, is.logs, is.logs + is.sequential_logs, false);
        if (best->open) reclaim(plane, best);
        return open_log(best, block);
    }
    int64_t *directed = &plane->directed[block];
    if (*directed >= 0 && plane->log[*directed].used < is.block_pages) return &plane->log[*directed];
    for (struct log *log = plane->log; log < plane->log + is.logs; log++) { /* a free one, or the one with the fewest members */
        if (!log->open) { best = log; break; }
        if (log->used < is.block_pages && log->members < plane->shared && (!best || log->members < best->members)) best = log;
    }
    if (!best) reclaim_random(plane, best = oldest_log(plane, 0, is.logs, false));
    if (!best->open) open_log(best, block);
    best->members++;
    *directed = best - plane->log;
    return best;
}

static void write_page(struct plane *plane, uint64_t page) {
    uint64_t block = page / is.block_pages, place = page % is.block_pages;
    if (place >= plane->filled[block]) { /* the pages of a block are programmed upwards only */
        plane->where[page] = IN_DATA;
        plane->filled[block] = place + 1;
    } else {
        struct log *log = log_for(plane, block, place);
        log->ordered &= log->owner == (int64_t)block && log->used == place;
        log->page[log->used] = (int64_t)page;
        plane->where[page] = (log - plane->log) * (int64_t)is.block_pages + (int64_t)log->used++;
        if (log->used == is.block_pages && log->ordered && log >= plane->log + is.logs) reclaim(plane, log);
    }
    did.programs++;
}

/* ---- Requests. ---- */

static void trim_page(struct plane *plane, uint64_t page) {
    uint64_t block = page / is.block_pages, i = 0;
    plane->where[page] = NOWHERE;
    while (i < is.block_pages && plane->where[block * is.block_pages + i] == NOWHERE) i++;
    if (i < is.block_pages || !plane->filled[block]) return;
    plane->filled[block] = 0;
    erase(plane);
}

static void do_work(struct plane *plane, struct job job) {
    job.before_ns = plane->work_ns;
    plane->work_ns = 0;
    give((uint64_t)(plane - planes), job);
}

static void merge_while_idle(void) {
    for (struct plane *plane = planes; plane < planes + is.planes; plane++) {
        struct log *log = oldest_log(plane, 0, is.logs, true);
        if (!log) continue;
        reclaim_random(plane, log);
        do_work(plane, (struct job){0});
    }
}

static void arrive(const struct record *request) {
    uint64_t slot = request->slot, kind = request->kind, offset_bytes = request->offset_bytes, end = offset_bytes + request->length_bytes;
    uint64_t first = offset_bytes / is.page_bytes, last = kind == FLUSH ? first : (end + is.page_bytes - 1) / is.page_bytes;
    begin_request(request);
    more_parts(slot, last - first);
    for (uint64_t page = first; page < last; page++) {
        struct plane *plane = &planes[page / is.stripe_pages % is.planes];
        uint64_t inner = page / is.stripe_pages / is.planes * is.stripe_pages + page % is.stripe_pages;
        bool whole = page * is.page_bytes >= offset_bytes && (page + 1) * is.page_bytes <= end;
        bool written = plane->where[inner] != NOWHERE;
        struct job job = {.done = part_done, .a = slot};
        if (kind == TRIM) {
            if (whole && written) trim_page(plane, inner);
            part_done(slot, 0);
        } else if (kind == READ && !written) {
            at(now_ns + (uint64_t)is.unwritten_ns, part_done, slot, 0);
        } else if (kind == READ) {
            did.reads++;
            job.cell_ns = varied_read(is.read_ns);
            job.out_ns = (uint64_t)is.bus_ns;
            do_work(plane, job);
        } else {
            if (!whole && written) plane->work_ns += varied_read(is.read_ns) + (uint64_t)is.bus_ns; /* the rest of the page */
            write_page(plane, inner);
            job.in_ns = (uint64_t)is.bus_ns;
            job.cell_ns = varied(is.program_ns);
            do_work(plane, job);
        }
    }
    part_done(slot, 0);
}

static void begin(void) {
    static void *old[4]; /* what the drive had before a purge */
    for (size_t i = 0; i < 4; i++) free(old[i]);
    uint64_t logs = is.logs + is.sequential_logs;
    planes = old[0] = zeroed(is.planes, sizeof *planes);
    int64_t *pages = old[1] = zeroed(is.planes * (is.plane_pages + is.plane_blocks + logs * is.block_pages), sizeof *pages);
    uint64_t *filled = old[2] = zeroed(is.planes * is.plane_blocks, sizeof *filled);
    struct log *log = old[3] = zeroed(is.planes * logs, sizeof *log);
    for (uint64_t i = 0; i < is.planes; i++) {
        planes[i] = (struct plane){.where = pages, .directed = pages + is.plane_pages, .filled = filled, .log = log, .shared = is.first_shared};
        for (uint64_t j = 0; j < is.plane_pages + is.plane_blocks; j++) *pages++ = NOWHERE; /* NOBODY is the same */
        for (uint64_t j = 0; j < logs; j++, log++, pages += is.block_pages) log->page = pages;
        filled += is.plane_blocks;
    }
    flash_begin(is.planes, is.channels);
}

static uint64_t programmed_bytes(void) { return did.programs * is.page_bytes; }

static void truths_of_cells(void) {
    item("page_read_time", is.read_ns * 1e-9);
    item("program_time", is.program_ns * 1e-9);
    item("erase_time", is.erase_ns * 1e-9);
    item("pages_per_block", (double)is.block_pages);
}

static void truths(void) {
    truths_of_drive("log-block", false);
    truths_of_flash(true, (double)is.page_bytes);
    truths_of_cells();
    if (idle_ns <= 0 && vary.throttle_rate <= 0) item("idle_recovery", 0);
    item("channels", (double)is.channels);
    item("dies", (double)is.planes); /* each works by itself, as a die of one plane */
    item("planes_per_die", 1);
    item("parallel_units", (double)is.planes);
    item("page_bytes", (double)is.page_bytes);
    item("stripe_bytes", (double)(is.stripe_pages * is.page_bytes));
    item("write_buffer_bytes", 0);
    item("slc_cache_bytes", 0);
    item("flush_cost", command_s());
}

static void design(void) {
    uint64_t logs = is.logs + is.sequential_logs;
    item("physical_bytes", (double)((is.plane_blocks + logs) * is.block_pages * is.planes * is.page_bytes));
    item("block_bytes", (double)(is.block_pages * is.page_bytes));
    item("random_log_blocks", (double)(is.logs * is.planes));
    item("sequential_log_blocks", (double)(is.sequential_logs * is.planes));
    item("log_bytes", (double)(logs * is.planes * is.block_pages * is.page_bytes));
    item("page_transfer_ns", is.bus_ns);
}

static void counters(void) {
    uint64_t shared = 0;
    for (uint64_t i = 0; i < is.planes; i++) shared += planes[i].shared;
    item("programmed_pages", (double)did.programs);
    item("read_pages", (double)did.reads);
    item("erased_blocks", (double)did.erases);
    item("switch_merges", (double)did.switches);
    item("partial_merges", (double)did.partials);
    item("full_merges", (double)did.fulls);
    item("mean_associativity", (double)shared / (double)is.planes);
}

/* Without a buffer, nothing is lost. */
static void power_cut(void) {}

int main(int count, char **values) {
    arguments(count, values);
    uint64_t capacity_bytes = (uint64_t)number("capacity", "2G");
    is.page_bytes = (uint64_t)number("page", "4K");
    is.block_pages = (uint64_t)number("block_pages", "64");
    is.planes = (uint64_t)number("planes", "8");
    is.channels = (uint64_t)number("channels", "4");
    is.stripe_pages = (uint64_t)number("stripe_pages", "4");          /* divides block_pages */
    is.logs = (uint64_t)number("logs", "32");                         /* random log blocks of each plane */
    is.sequential_logs = (uint64_t)number("sequential_logs", "1");    /* of each plane */
    is.first_shared = (uint64_t)number("shared", "4");                /* K at the start */
    is.most_shared = (uint64_t)number("most_shared", "64");           /* K at most; shared=1 most_shared=1 is BAST */
    is.window = (uint64_t)number("window", "16");                     /* reclaimed logs between adaptations */
    is.copyback = number("copyback", "1") != 0;                       /* merges leave the channel free */
    is.read_ns = number("read", "50us");
    is.program_ns = number("program", "300us");
    is.erase_ns = number("erase", "2ms");
    idle_ns = number("idle_merge", "0ms");                         /* full logs are merged after so much idle time; 0: never */
    is.unwritten_ns = number("unwritten", "10us");                    /* a read of what was never written */
    is.bus_ns = (double)is.page_bytes * 1e9 / number("bus_rate", "100e6");
    host_parameters("270e6", "half", "20us", "10us");
    variation_parameters();
    idle_work = merge_while_idle;
    if (!is.page_bytes || is.page_bytes % 512 || !is.block_pages || !is.planes || !is.channels || !is.stripe_pages || !is.window)
        fail("page is a multiple of 512, and block_pages, planes, channels, stripe_pages and window are at least 1.");
    if (is.block_pages % is.stripe_pages) fail("stripe_pages must divide block_pages.");
    if (!is.logs || !is.first_shared || is.first_shared > is.most_shared) fail("logs and shared are at least 1, and shared is at most most_shared.");
    is.plane_blocks = capacity_bytes / (is.page_bytes * is.block_pages * is.planes);
    is.plane_pages = is.plane_blocks * is.block_pages;
    if (!is.plane_blocks) fail("The capacity has room for no block in each plane.");
    serve(&(struct drive){
        .name = "Hybrid FTL with adaptive logs", .summary = "Block-mapped data, page-mapped logs shared by K blocks, K adapts",
        .capacity_bytes = is.plane_pages * is.planes * is.page_bytes, .can_trim = true, .begin = begin, .arrive = arrive,
        .programmed_bytes = programmed_bytes, .truths = truths, .design = design, .counters = counters, .power_cut = power_cut});
}
