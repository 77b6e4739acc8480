/* (c) A DFTL drive (Gupta, Kim, Urgaonkar, ASPLOS 2009): the mapping lies in flash.
 *
 * Translation pages in translation blocks hold the mapping of pages; a directory in RAM says where
 * they are; the cached mapping table (CMT) holds the entries used last (LRU). A miss reads a
 * translation page; to make room for it a changed entry may have to be written back, which reads and
 * programs another one, with the changes of all cached entries of that page (batch updates). A miss
 * loads what its request needs of the translation page (request-level prefetching: TPFTL, Zhou et
 * al., EuroSys 2015) and at least `prefetch` entries. Collection is greedy in each die and holds the
 * die until the block is erased; entries of moved pages change in the CMT where they are cached
 * (lazy copying), else in their translation pages, one program for all of a page.
 * Data go to the dies in turn as they come. There is no write buffer. */
#include "truths.h"

enum { NONE = UINT32_MAX, TRANSLATION = 0x80000000u, MOST_STEPS = 32 };
enum step_kind { READ_PAGE, PROGRAM_PAGE };

static struct {
    uint64_t capacity_bytes, page_bytes, cmt_bytes;
    uint32_t channels, dies, block_pages, gc_blocks, prefetch;
    double spare, read_ns, program_ns, erase_ns, ns_per_byte;
    bool batch;
} with;
static uint32_t all_dies, die_blocks, die_pages, logical_pages, page_entries, translation_pages, cmt_entries;

/* ---- Flash: blocks of data and of translation pages in each die. ---- */

struct die { uint32_t frontier[2], next_page[2], free_blocks, valid_pages, *free_stack, *valid; bool *closed; uint64_t free_ns; };
static struct die *dies;
static uint32_t *where, *directory;  /* physical page of each logical page and of each translation page, or NONE */
static uint32_t *owner;              /* of each physical page: logical page, or TRANSLATION + its number, or NONE */
static uint32_t next_die;
static uint64_t *channel_free_ns, programmed_pages, programmed_translations, erased_blocks, host_pages, hits, misses;

static uint32_t die_of(uint32_t physical) { return physical / die_pages; }

static void forget(uint32_t *physical) {
    if (*physical == NONE) return;
    struct die *die = &dies[die_of(*physical)];
    die->valid[*physical % die_pages / with.block_pages]--;
    die->valid_pages--;
    owner[*physical] = NONE;
    *physical = NONE;
}

static void place(uint32_t number, uint32_t whose, uint32_t *physical) {
    struct die *die = &dies[number];
    int kind = whose >= TRANSLATION;
    if (die->next_page[kind] == with.block_pages) {
        if (die->frontier[kind] != NONE) die->closed[die->frontier[kind]] = true;
        if (!die->free_blocks) fail("A die ran out of blocks.");
        die->frontier[kind] = die->free_stack[--die->free_blocks];
        die->next_page[kind] = 0;
    }
    forget(physical);
    *physical = number * die_pages + die->frontier[kind] * with.block_pages + die->next_page[kind]++;
    owner[*physical] = whose;
    die->valid[die->frontier[kind]]++;
    die->valid_pages++;
    programmed_pages++;
    programmed_translations += (unsigned)kind;
}

static void rewrite_translation(uint32_t number) { place(number % all_dies, TRANSLATION + number, &directory[number]); }

/* The die that takes the next data page: in turn, but none that has hardly a page to spare. */
static uint32_t die_in_turn(void) {
    for (uint32_t tried = 0; tried < all_dies; tried++) {
        uint32_t die = next_die;
        next_die = (next_die + 1) % all_dies;
        if (dies[die].valid_pages + (with.gc_blocks + 3) * with.block_pages < die_pages) return die;
    }
    fail("Every die is full.");
}

/* ---- The cached mapping table. ---- */

struct entry { uint32_t page, newer, older, loader; bool changed; };
static struct entry *entries;
static uint32_t *entry_of, entries_used, newest, oldest;

static void unlink_entry(uint32_t number) {
    struct entry *entry = &entries[number];
    if (entry->newer == NONE) newest = entry->older;
    else entries[entry->newer].older = entry->older;
    if (entry->older == NONE) oldest = entry->newer;
    else entries[entry->older].newer = entry->newer;
}

static void link_newest(uint32_t number) {
    entries[number].newer = NONE;
    entries[number].older = newest;
    if (newest == NONE) oldest = number;
    else entries[newest].newer = number;
    newest = number;
}

/* ---- Jobs: the pieces of requests, each a chain of flash operations. ---- */

struct job {
    uint32_t slot, page, loaded, steps, step, physical, bytes, next, waiters; /* loaded: entries that others may wait for */
    struct { enum step_kind kind; uint32_t physical; } chain[MOST_STEPS];
    bool reads;
};
static struct job *jobs;
static uint32_t jobs_room, jobs_free = NONE;

static uint32_t new_job(void) {
    if (jobs_free == NONE) {
        uint32_t more = jobs_room ? jobs_room : 1024;
        if (!(jobs = realloc(jobs, (jobs_room + more) * sizeof *jobs))) fail("There is no memory for jobs.");
        for (uint32_t i = 0; i < more; i++) jobs[jobs_room + i].next = i + 1 < more ? jobs_room + i + 1 : NONE;
        jobs_free = jobs_room;
        jobs_room += more;
    }
    uint32_t number = jobs_free;
    jobs_free = jobs[number].next;
    return number;
}

static void add_step(struct job *job, enum step_kind kind, uint32_t physical) {
    job->chain[job->steps].kind = kind;
    job->chain[job->steps++].physical = physical;
}

/* Takes the entry used least lately out of the CMT, and writes it back where it was changed. */
static uint32_t evict(struct job *job) {
    uint32_t number = oldest, page = entries[number].page, translation = page / page_entries;
    unlink_entry(number);
    entry_of[page] = NONE;
    if (!entries[number].changed) return number;
    if (directory[translation] != NONE) add_step(job, READ_PAGE, directory[translation]);
    rewrite_translation(translation);
    add_step(job, PROGRAM_PAGE, directory[translation]);
    for (uint32_t i = translation * page_entries; with.batch && i < (translation + 1) * page_entries && i < logical_pages; i++)
        if (entry_of[i] != NONE) entries[entry_of[i]].changed = false;
    return number;
}

/* Loads the entries of pages from `page` on that are not cached, `most` of them within a translation
 * page, and gives the job the flash operations for it. */
static void load(uint32_t number, uint32_t page, uint32_t most) {
    struct job *job = &jobs[number];
    uint32_t translation = page / page_entries, end = (translation + 1) * page_entries;
    if (end > logical_pages) end = logical_pages;
    if (most > cmt_entries / 2) most = cmt_entries / 2; /* or they would evict each other */
    for (; job->loaded < most && page < end && entry_of[page] == NONE && job->steps + 4 <= MOST_STEPS; job->loaded++, page++) {
        uint32_t entry = entries_used < cmt_entries ? entries_used++ : evict(job);
        entries[entry] = (struct entry){.page = page, .loader = number};
        entry_of[page] = entry;
        link_newest(entry);
    }
    if (directory[translation] != NONE) add_step(job, READ_PAGE, directory[translation]);
}

/* ---- Collection. ---- */

static uint32_t *to_rewrite; /* translation pages of moved data */
static bool *is_to_rewrite;

static void collect(uint32_t number) {
    struct die *die = &dies[number];
    uint32_t victim = NONE, fewest = with.block_pages, rewrites = 0;
    double busy_ns = with.erase_ns;
    for (uint32_t block = 0; block < die_blocks; block++)
        if (die->closed[block] && die->valid[block] < fewest) victim = block, fewest = die->valid[block];
    if (victim == NONE) fail("A die has no block that is worth collecting.");
    uint32_t first = number * die_pages + victim * with.block_pages;
    for (uint32_t physical = first; physical < first + with.block_pages; physical++) {
        uint32_t whose = owner[physical];
        if (whose == NONE) continue;
        busy_ns += with.read_ns + with.program_ns; /* inside the die (copy-back) */
        if (whose >= TRANSLATION) {
            place(number, whose, &directory[whose - TRANSLATION]);
            continue;
        }
        place(number, whose, &where[whose]);
        if (entry_of[whose] != NONE) entries[entry_of[whose]].changed = true;
        else if (!is_to_rewrite[whose / page_entries]) is_to_rewrite[to_rewrite[rewrites++] = whose / page_entries] = true;
    }
    uint64_t begin_ns = after_housekeeping(now_ns);
    reserve(&die->free_ns, begin_ns, varied(busy_ns));
    for (uint32_t i = 0; i < rewrites; i++) {
        rewrite_translation(to_rewrite[i]);
        is_to_rewrite[to_rewrite[i]] = false;
        reserve(&dies[to_rewrite[i] % all_dies].free_ns, begin_ns, varied_read(with.read_ns) + varied(with.program_ns));
    }
    die->closed[victim] = false;
    die->free_stack[die->free_blocks++] = victim;
    erased_blocks++;
}

static void collect_where_short(void) {
    for (uint32_t die = 0; die < all_dies; die++)
        while (dies[die].free_blocks < with.gc_blocks) collect(die);
}

/* ---- How a job runs. ---- */

static uint64_t over_channel(uint32_t physical, uint64_t from_ns, uint64_t bytes) {
    return reserve(&channel_free_ns[die_of(physical) % with.channels], from_ns, (uint64_t)((double)bytes * with.ns_per_byte + 0.5));
}

static uint64_t sensed_at(uint32_t physical) {
    return reserve(&dies[die_of(physical)].free_ns, after_housekeeping(now_ns), varied_read(with.read_ns));
}

static uint64_t programmed_at(uint32_t physical) {
    uint64_t loaded_ns = over_channel(physical, after_housekeeping(now_ns), with.page_bytes);
    return reserve(&dies[die_of(physical)].free_ns, loaded_ns, varied(with.program_ns));
}

static void end_job(uint64_t number, uint64_t b) {
    (void)b;
    struct job *job = &jobs[number];
    piece_done(job->slot, job->reads ? over_link(true, now_ns, job->bytes) : now_ns);
    job->next = jobs_free;
    jobs_free = (uint32_t)number;
}

static void sensed_data(uint64_t number, uint64_t b) {
    at(over_channel(jobs[number].physical, now_ns, jobs[number].bytes), end_job, number, b);
}

static void begin_data(uint32_t number) {
    struct job *job = &jobs[number];
    if (!job->reads) at(programmed_at(job->physical), end_job, number, 0);
    else if (job->physical != NONE) at(sensed_at(job->physical), sensed_data, number, 0);
    else at(now_ns, end_job, number, 0); /* was never written */
}

static void next_step(uint64_t number, uint64_t b);

static void sensed_step(uint64_t number, uint64_t physical) {
    at(over_channel((uint32_t)physical, now_ns, with.page_bytes), next_step, number, 0);
}

static void next_step(uint64_t number, uint64_t b) {
    (void)b;
    struct job *job = &jobs[number];
    if (job->step < job->steps) {
        uint32_t physical = job->chain[job->step].physical;
        if (job->chain[job->step++].kind == READ_PAGE) at(sensed_at(physical), sensed_step, number, physical);
        else at(programmed_at(physical), next_step, number, 0);
        return;
    }
    for (uint32_t page = job->page; page < job->page + job->loaded; page++)
        if (entry_of[page] != NONE && entries[entry_of[page]].loader == number) entries[entry_of[page]].loader = NONE;
    for (uint32_t waiter = job->waiters; waiter != NONE; waiter = jobs[waiter].next) begin_data(waiter);
    begin_data((uint32_t)number);
}

/* ---- Requests. ---- */

static void begin_piece(const struct record *request, uint32_t page, uint32_t last, uint32_t bytes) {
    collect_where_short();
    uint32_t number = new_job(), wanted = last - page + 1, loader = NONE;
    struct job *job = &jobs[number];
    *job = (struct job){.slot = request->slot, .page = page, .bytes = bytes, .reads = request->kind == READ, .waiters = NONE};
    if (entry_of[page] == NONE) {
        misses++;
        load(number, page, wanted > with.prefetch ? wanted : with.prefetch);
    } else {
        hits++;
        loader = entries[entry_of[page]].loader;
        unlink_entry(entry_of[page]);
        link_newest(entry_of[page]);
    }
    if (!job->reads) {
        host_pages++;
        if (bytes < with.page_bytes && where[page] != NONE) add_step(job, READ_PAGE, where[page]); /* the rest of the page */
        place(die_in_turn(), page, &where[page]);
        entries[entry_of[page]].changed = true;
    }
    job->physical = where[page];
    if (loader == NONE) {
        next_step(number, 0);
    } else {
        job->next = jobs[loader].waiters;
        jobs[loader].waiters = number;
    }
}

static void trim_page(uint32_t page) { /* its entry is changed where it is cached; else that costs nothing here */
    forget(&where[page]);
    if (entry_of[page] != NONE) entries[entry_of[page]].changed = true;
}

static void arrive(const struct record *request) {
    uint64_t begin = request->offset_bytes, end = begin + request->length_bytes, size = with.page_bytes;
    uint64_t first = begin / size, last = end > begin ? (end - 1) / size : first;
    if (request->kind == TRIM)
        for (uint64_t page = (begin + size - 1) / size; (page + 1) * size <= end; page++) trim_page((uint32_t)page);
    if (request->kind == TRIM || request->kind == FLUSH || end == begin) { /* every write is durable when it is done */
        open_request(request->slot, 1);
        piece_done(request->slot, now_ns);
        return;
    }
    open_request(request->slot, last - first + 1);
    for (uint64_t page = first; page <= last; page++) {
        uint64_t from = page * size, to = from + size;
        begin_piece(request, (uint32_t)page, (uint32_t)last, (uint32_t)((to < end ? to : end) - (from > begin ? from : begin)));
    }
}

/* ---- The drive. ---- */

static void begin(void) {
    host_begin();
    variation_begin();
    memset(where, 0xff, logical_pages * sizeof *where);
    memset(directory, 0xff, translation_pages * sizeof *directory);
    memset(owner, 0xff, (size_t)all_dies * die_pages * sizeof *owner);
    memset(entry_of, 0xff, logical_pages * sizeof *entry_of);
    memset(channel_free_ns, 0, with.channels * sizeof *channel_free_ns);
    entries_used = next_die = 0;
    newest = oldest = NONE;
    jobs_room = 0, jobs_free = NONE;
    for (uint32_t i = 0; i < all_dies; i++) {
        struct die *die = &dies[i];
        die->frontier[0] = die->frontier[1] = NONE;
        die->next_page[0] = die->next_page[1] = with.block_pages;
        die->free_blocks = die_blocks;
        die->valid_pages = 0;
        die->free_ns = 0;
        memset(die->closed, 0, die_blocks);
        memset(die->valid, 0, die_blocks * sizeof *die->valid);
        for (uint32_t block = 0; block < die_blocks; block++) die->free_stack[block] = die_blocks - 1 - block;
    }
}

static uint64_t programmed_bytes(void) { return programmed_pages * with.page_bytes; }

static void counters(void) {
    item("erased_blocks", (double)erased_blocks);
    item("programmed_pages", (double)programmed_pages);
    item("programmed_translation_pages", (double)programmed_translations);
    item("host_pages", (double)host_pages);
    item("map_hits", (double)hits);
    item("map_misses", (double)misses);
}

static void truths_of_cells(void) {
    item("page_read_time", with.read_ns * 1e-9);
    item("program_time", with.program_ns * 1e-9);
    item("erase_time", with.erase_ns * 1e-9);
    item("pages_per_block", with.block_pages);
}

static void truths(void) {
    double page = (double)with.page_bytes, block = page * with.block_pages;
    truths_of_drive("page-mapped", false);
    truths_of_flash(false, page);
    truths_of_cells();
    truths_of_collection(((double)all_dies * (die_blocks - with.gc_blocks) * with.block_pages - translation_pages) / logical_pages - 1, false);
    item("channels", with.channels);
    item("dies", all_dies);
    item("planes_per_die", 1);
    item("parallel_units", all_dies);
    item("page_bytes", page);
    item("stripe_bytes", page);
    item("placement_by_address", 0);
    item("mapping_unit", page);
    item("superblock_bytes", block * all_dies); /* what fills up together when written in sequence */
    item("write_buffer_bytes", 0);
    item("slc_cache_bytes", 0);
    item("flush_cost", command_s());
}

static void design(void) {
    double page = (double)with.page_bytes;
    item("physical_bytes", (double)all_dies * die_pages * page);
    item("spare_share", ((double)all_dies * die_pages - translation_pages) / logical_pages - 1); /* without what translation pages take */
    item("spare_blocks_kept_per_die", with.gc_blocks);
    item("map_cache_bytes", (double)with.cmt_bytes);
    item("map_cache_entries", cmt_entries);
    item("map_cache_span_bytes", cmt_entries * page); /* of random places */
    item("map_entries_loaded_at_once", with.prefetch);
    item("page_transfer_ns", page * with.ns_per_byte);
}

static void read_parameters(void) {
    with.capacity_bytes = (uint64_t)number("capacity", "4G");
    with.channels = (uint32_t)number("channels", "4");
    with.dies = (uint32_t)number("dies", "2");               /* on a channel */
    with.page_bytes = (uint64_t)number("page", "4K");
    with.block_pages = (uint32_t)number("block_pages", "64");
    with.spare = number("spare", "0.12");                    /* more flash than data and translation pages, as a share */
    with.read_ns = number("read", "40us");
    with.program_ns = number("program", "300us");
    with.erase_ns = number("erase", "2ms");
    with.ns_per_byte = 1e9 / number("channel_rate", "200e6"); /* bytes a second */
    with.cmt_bytes = (uint64_t)number("cmt", "64K");         /* of RAM for the cached mapping table, eight an entry */
    with.prefetch = (uint32_t)number("prefetch", "1");       /* entries that a miss loads at least */
    with.batch = number("batch", "1") != 0;                  /* a write-back takes all changes of its page along */
    with.gc_blocks = (uint32_t)number("gc_blocks", "4");     /* fewer free blocks in a die begin collection */
    host_parameters("540e6", "half", "20us", "2us");
    variation_parameters();
}

static void lay_out(void) {
    all_dies = with.channels * with.dies;
    page_entries = (uint32_t)(with.page_bytes / 4); /* four bytes each in flash */
    logical_pages = with.page_bytes ? (uint32_t)(with.capacity_bytes / with.page_bytes) : 0;
    if (!all_dies || !with.block_pages || !page_entries || !logical_pages || logical_pages * with.page_bytes != with.capacity_bytes)
        fail("The geometry is impossible: whole pages, and at least one of each part.");
    translation_pages = (logical_pages + page_entries - 1) / page_entries;
    cmt_entries = (uint32_t)(with.cmt_bytes / 8);
    if (cmt_entries < 64 || !with.prefetch || with.prefetch > cmt_entries) fail("The cached mapping table needs 64 entries or more (512 bytes), and a miss loads one or more.");
    if (cmt_entries > logical_pages) cmt_entries = logical_pages;
    double die_needs = (double)(logical_pages + translation_pages) / all_dies / with.block_pages;
    die_blocks = (uint32_t)ceil((1 + with.spare) * die_needs);
    die_pages = die_blocks * with.block_pages;
    if (with.gc_blocks < 3 || die_blocks - die_needs < with.gc_blocks + 4)
        fail("The spare area is too small: each die needs gc_blocks (at least 3) and four more spare blocks.");
}

int main(int count, char **values) {
    arguments(count, values);
    read_parameters();
    lay_out();
    where = zeroed(logical_pages, sizeof *where);
    directory = zeroed(translation_pages, sizeof *directory);
    owner = zeroed((size_t)all_dies * die_pages, sizeof *owner);
    entry_of = zeroed(logical_pages, sizeof *entry_of);
    entries = zeroed(cmt_entries, sizeof *entries);
    to_rewrite = zeroed(with.block_pages, sizeof *to_rewrite);
    is_to_rewrite = zeroed(translation_pages, sizeof *is_to_rewrite);
    channel_free_ns = zeroed(with.channels, sizeof *channel_free_ns);
    dies = zeroed(all_dies, sizeof *dies);
    for (uint32_t i = 0; i < all_dies; i++) {
        dies[i].free_stack = zeroed(die_blocks, sizeof(uint32_t));
        dies[i].valid = zeroed(die_blocks, sizeof(uint32_t));
        dies[i].closed = zeroed(die_blocks, sizeof(bool));
    }
    serve(&(struct drive){
        .name = "DFTL",
        .summary = "Mapping in flash, loaded on demand into a small table.",
        .capacity_bytes = with.capacity_bytes, .can_trim = true, .begin = begin, .arrive = arrive,
        .programmed_bytes = programmed_bytes, .truths = truths, .design = design, .counters = counters});
}
