/* A TLC or QLC SSD whose SLC cache grows and shrinks with the free space.
 *
 * What vendors publish of such caches (Samsung's TurboWrite white papers of 2013 and 2018, Micron's
 * "Dynamic Write Acceleration" brief of 2014): a small part is always SLC; a larger part takes blocks
 * that hold no data, so it shrinks as the drive fills; new data go to SLC while there is room, and
 * then either straight to TLC, or to SLC blocks that are folded at the same time; what lies in SLC is
 * folded into TLC after some idle time, and a request of the host stops that. A TLC word line is
 * programmed at once with all its pages (one-shot programming of 3D NAND).
 *
 * The FTL maps units of 4 KiB into superblocks, which are one block of every die. Collection is greedy
 * and counts a superblock in SLC as what it is: one with a third (a quarter) of the data. */
#include "flash.h"
#include "truths.h"

enum { NOWHERE = -1 };
enum mode { FREE, SLC, TLC };
enum stream { HOST_SLC, HOST_TLC, MOVED, STREAMS };
enum { DURABLE, OF_HOST, OF_MOVE }; /* where a unit is until it is programmed */

static struct {
    uint64_t capacity_bytes, unit_bytes, page_bytes, bits, dies, channels, block_pages, buffer_units;
    uint64_t page_units, slc_units, tlc_units, units, superblocks, static_slc, low;
    double op, dynamic_share, keep_share, unwritten_ns;
    double slc_read_ns, tlc_read_ns, slc_program_ns, tlc_program_ns, erase_ns, unit_bus_ns;
    bool fold_in_front;
} is;

static struct superblock { enum mode mode; uint64_t valid, used, opened, moved; bool open, worn; } *superblocks;
/* issued: units up to the last program; of_host: units since then that take room in the buffer */
static struct { int64_t superblock; uint64_t issued, of_host, before_ns; } streams[STREAMS];
static int64_t *place_of, *unit_at, victim; /* a place is superblock * tlc_units + position */
static uint8_t *state_at;
static uint64_t free_superblocks, slc_superblocks, slc_valid, mapped, openings, buffered, last_page_read;
static double pace, debt; /* units to move for each that the host writes; and those that are due */
static struct { uint64_t slc_bytes, tlc_bytes, folded, collected, erases; } did;

/* The writes that wait for room in the buffer. */
static struct waiting { uint64_t slot, unit, end; bool fua; struct waiting *next; } *first_waiting, *last_waiting;

/* ---- Superblocks. ---- */

static uint64_t units_in(const struct superblock *one) { return one->mode == SLC ? is.slc_units : is.tlc_units; }

static uint64_t slc_limit(void) {
    uint64_t outside = mapped - slc_valid, room = outside < is.units ? (is.units - outside) / is.tlc_units : 0;
    return is.static_slc + (uint64_t)(is.dynamic_share * (double)room);
}

static void free_superblock(int64_t number) {
    slc_superblocks -= superblocks[number].mode == SLC;
    superblocks[number] = (struct superblock){.mode = FREE, .worn = true};
    free_superblocks++;
    if (victim == number) victim = NOWHERE;
}

static void forget(uint64_t unit) {
    int64_t place = place_of[unit];
    if (place == NOWHERE) return;
    struct superblock *one = &superblocks[(uint64_t)place / is.tlc_units];
    one->valid--;
    mapped--;
    slc_valid -= one->mode == SLC;
    unit_at[place] = NOWHERE;
    place_of[unit] = NOWHERE;
    if (!one->valid && !one->open) free_superblock(one - superblocks);
}

static void open_superblock(enum stream stream) {
    uint64_t number = 0;
    while (number < is.superblocks && superblocks[number].mode != FREE) number++;
    if (number == is.superblocks) fail("There is no free superblock left; the drive needs more spare area.");
    bool erase = superblocks[number].worn; /* a new drive is erased */
    superblocks[number] = (struct superblock){.mode = stream == HOST_SLC ? SLC : TLC, .opened = ++openings, .open = true};
    slc_superblocks += stream == HOST_SLC;
    free_superblocks--;
    streams[stream].superblock = (int64_t)number;
    streams[stream].issued = 0;
    did.erases += erase;
    for (uint64_t die = 0; erase && die < is.dies; die++) give(die, (struct job){.cell_ns = varied(is.erase_ns)});
}

static void close_superblock(enum stream stream) {
    int64_t number = streams[stream].superblock;
    superblocks[number].open = false;
    streams[stream].superblock = NOWHERE;
    if (!superblocks[number].valid) free_superblock(number);
}

/* Closed ones only. In SLC the oldest, elsewhere what costs least to move. */
static int64_t choose_victim(bool slc_only) {
    int64_t best = NOWHERE;
    for (int64_t i = 0; i < (int64_t)is.superblocks; i++) {
        const struct superblock *one = &superblocks[i], *other = &superblocks[best < 0 ? i : best];
        if (one->mode == FREE || one->open || (slc_only && one->mode != SLC)) continue;
        if (best < 0 || (slc_only ? one->opened < other->opened : one->valid < other->valid)) best = i;
    }
    return best;
}

/* ---- Programs. ---- */

static void let_wait_in(void);

static void programmed(uint64_t place, uint64_t host_and_step) {
    buffered -= host_and_step >> 32;
    memset(state_at + place, DURABLE, host_and_step & UINT32_MAX);
    let_wait_in();
}

/* Programs what a stream has collected, a page in SLC or a word line in TLC. */
static void program(enum stream stream) {
    struct superblock *one = &superblocks[streams[stream].superblock];
    uint64_t from = streams[stream].issued, step = one->mode == SLC ? is.page_units : is.page_units * is.bits;
    if (one->used == from) return;
    one->used = from + step; /* what is missing is padding */
    streams[stream].issued = one->used;
    if (one->mode == SLC) did.slc_bytes += step * is.unit_bytes; else did.tlc_bytes += step * is.unit_bytes;
    give(from / step % is.dies, (struct job){
        .before_ns = streams[stream].before_ns, .in_ns = (uint64_t)((double)step * is.unit_bus_ns),
        .cell_ns = varied(one->mode == SLC ? is.slc_program_ns : is.tlc_program_ns),
        .done = programmed, .a = (uint64_t)streams[stream].superblock * is.tlc_units + from, .b = streams[stream].of_host << 32 | step});
    streams[stream].before_ns = streams[stream].of_host = 0;
    if (one->used == units_in(one)) close_superblock(stream);
}

static void program_if_open(enum stream stream) {
    if (streams[stream].superblock != NOWHERE) program(stream);
}

static void append(enum stream stream, uint64_t unit, uint8_t state) {
    forget(unit);
    if (streams[stream].superblock == NOWHERE) open_superblock(stream);
    struct superblock *one = &superblocks[streams[stream].superblock];
    int64_t place = streams[stream].superblock * (int64_t)is.tlc_units + (int64_t)one->used++;
    one->valid++;
    mapped++;
    slc_valid += one->mode == SLC;
    place_of[unit] = place;
    unit_at[place] = (int64_t)unit;
    state_at[place] = state;
    streams[stream].of_host += state == OF_HOST;
    uint64_t step = one->mode == SLC ? is.page_units : is.page_units * is.bits;
    if (one->used - streams[stream].issued == step) program(stream);
}

/* ---- Folding and collection. ---- */

/* Moves up to so many units of the victim, which is free when nothing is left in it. */
static uint64_t move(uint64_t most) {
    uint64_t moved = 0;
    struct superblock *one = &superblocks[victim];
    bool slc = one->mode == SLC;
    int64_t from = victim * (int64_t)is.tlc_units;
    while (moved < most && victim != NOWHERE) {
        int64_t place = from + (int64_t)one->moved++;
        if (unit_at[place] == NOWHERE) continue;
        if (last_page_read != (uint64_t)place / is.page_units) /* each page is read once, by the die that programs it */
            streams[MOVED].before_ns += varied_read(slc ? is.slc_read_ns : is.tlc_read_ns);
        last_page_read = (uint64_t)place / is.page_units;
        append(MOVED, (uint64_t)unit_at[place], OF_MOVE);
        moved++;
    }
    if (slc) did.folded += moved; else did.collected += moved;
    return moved;
}

static bool choose(bool slc_only) { return victim != NOWHERE || (victim = choose_victim(slc_only)) != NOWHERE; }

/* Moves, for a unit that the host writes, so many that as much becomes free at the same time. */
static void move_in_front(enum stream stream) {
    if (victim == NOWHERE) {
        bool fold = stream == HOST_SLC && is.fold_in_front && slc_superblocks >= slc_limit();
        if ((!fold && free_superblocks > is.low) || !choose(fold)) return;
        double gain = fold ? 1 : 1 - (double)superblocks[victim].valid / (double)is.tlc_units; /* superblocks */
        pace = gain > 0 ? (double)superblocks[victim].valid / gain / (double)(stream == HOST_SLC ? is.slc_units : is.tlc_units) : 0;
        debt = 0;
    }
    debt += pace;
    debt -= (double)move((uint64_t)debt);
}

static enum stream host_stream(void) {
    if (streams[HOST_SLC].superblock != NOWHERE) return HOST_SLC;
    if (is.fold_in_front)
        while (slc_limit() && slc_superblocks >= slc_limit() && choose(true)) move(UINT64_MAX);
    bool slc = slc_superblocks < slc_limit();
    if (slc || streams[HOST_TLC].superblock == NOWHERE)
        while (free_superblocks < 2 && choose(false)) move(UINT64_MAX); /* one stays for what is moved */
    return slc ? HOST_SLC : HOST_TLC;
}

static void fold_while_idle(void) {
    uint64_t moved = 0, keep = (uint64_t)(is.keep_share * (double)(slc_limit() * is.slc_units)), step = is.page_units * is.bits;
    while (moved < is.dies * step && (slc_valid > keep || victim != NOWHERE)) {
        if (!choose(true)) {
            if (streams[HOST_SLC].superblock == NOWHERE) break;
            program(HOST_SLC); /* only the open superblock is left: it is closed as it is */
            if (streams[HOST_SLC].superblock != NOWHERE) close_superblock(HOST_SLC);
            continue;
        }
        moved += move(is.dies * step - moved);
    }
}

/* ---- Requests. ---- */

/* Programs what was begun, and waits until every die has done what it has to do. */
static void make_durable(uint64_t slot) {
    program_if_open(HOST_SLC);
    program_if_open(HOST_TLC);
    more_parts(slot, is.dies);
    for (uint64_t die = 0; die < is.dies; die++) give(die, (struct job){.done = part_done, .a = slot});
}

static void let_wait_in(void) {
    while (first_waiting && buffered < is.buffer_units) {
        struct waiting *one = first_waiting;
        enum stream stream = host_stream();
        move_in_front(stream);
        buffered++;
        append(stream, one->unit++, OF_HOST);
        if (one->unit < one->end) continue;
        if (!(first_waiting = one->next)) last_waiting = NULL;
        if (one->fua) make_durable(one->slot);
        part_done(one->slot, 0);
        free(one);
    }
}

/* Reads units of the host that are neighbours in one page at once. */
static void read_units(uint64_t slot, uint64_t unit, uint64_t end) {
    while (unit < end) {
        int64_t place = place_of[unit];
        uint64_t first = unit++;
        more_parts(slot, 1);
        if (place == NOWHERE || state_at[place] != DURABLE) {
            at(now_ns + (uint64_t)(place == NOWHERE ? is.unwritten_ns : 0), part_done, slot, 0);
            continue;
        }
        while (unit < end && place_of[unit] != NOWHERE && place_of[unit] / (int64_t)is.page_units == place / (int64_t)is.page_units) unit++;
        bool slc = superblocks[(uint64_t)place / is.tlc_units].mode == SLC;
        uint64_t step = slc ? is.page_units : is.page_units * is.bits;
        give((uint64_t)place % is.tlc_units / step % is.dies, (struct job){
            .cell_ns = varied_read(slc ? is.slc_read_ns : is.tlc_read_ns),
            .out_ns = (uint64_t)((double)(unit - first) * is.unit_bus_ns), .done = part_done, .a = slot});
    }
}

static void write_units(uint64_t slot, uint64_t first, uint64_t end, uint64_t offset_bytes, uint64_t end_bytes, bool fua) {
    if (offset_bytes % is.unit_bytes) read_units(slot, first, first + 1); /* the rest of a unit */
    if (end_bytes % is.unit_bytes && (end > first + 1 || offset_bytes % is.unit_bytes == 0)) read_units(slot, end - 1, end);
    struct waiting *one = zeroed(1, sizeof *one);
    *one = (struct waiting){.slot = slot, .unit = first, .end = end, .fua = fua};
    last_waiting = last_waiting ? (last_waiting->next = one) : (first_waiting = one);
    more_parts(slot, 1);
    let_wait_in();
}

static void arrive(const struct record *request) {
    uint64_t slot = request->slot, offset_bytes = request->offset_bytes, end_bytes = offset_bytes + request->length_bytes;
    uint64_t first = offset_bytes / is.unit_bytes, end = (end_bytes + is.unit_bytes - 1) / is.unit_bytes;
    begin_request(request);
    if (request->kind == READ) read_units(slot, first, end);
    else if (request->kind == WRITE && first < end) write_units(slot, first, end, offset_bytes, end_bytes, request->flags & FUA);
    else if (request->kind == FLUSH) make_durable(slot);
    else if (request->kind == TRIM)
        for (uint64_t unit = first; unit < end; unit++)
            if (unit * is.unit_bytes >= offset_bytes && (unit + 1) * is.unit_bytes <= end_bytes) forget(unit);
    part_done(slot, 0);
}

/* What power-on does: nothing is buffered, open or on its way. */
static void start_anew(void) {
    for (enum stream stream = 0; stream < STREAMS; stream++) streams[stream].superblock = NOWHERE, streams[stream].of_host = streams[stream].before_ns = 0;
    memset(state_at, DURABLE, is.superblocks * is.tlc_units);
    first_waiting = last_waiting = NULL;
    events_held = buffered = 0;
    victim = NOWHERE;
    last_page_read = UINT64_MAX;
    flash_begin(is.dies, is.channels);
}

/* What no die has programmed yet is lost; open superblocks are closed. */
static void power_cut(void) {
    uint64_t first = 0, count = 0;
    for (uint64_t unit = 0; unit <= is.units; unit++) {
        if (unit < is.units && place_of[unit] != NOWHERE && state_at[place_of[unit]] == OF_HOST) {
            if (!count++) first = unit;
            forget(unit);
        } else if (count) {
            lost(first * is.unit_bytes, count * is.unit_bytes);
            count = 0;
        }
    }
    for (enum stream stream = 0; stream < STREAMS; stream++)
        if (streams[stream].superblock != NOWHERE) close_superblock(stream);
    start_anew();
}

static void begin(void) {
    free(superblocks);
    free(place_of);
    free(unit_at);
    free(state_at);
    superblocks = zeroed(free_superblocks = is.superblocks, sizeof *superblocks);
    place_of = zeroed(is.units, sizeof *place_of);
    unit_at = zeroed(is.superblocks * is.tlc_units, sizeof *unit_at);
    state_at = zeroed(is.superblocks * is.tlc_units, 1);
    memset(place_of, 0xff, is.units * sizeof *place_of); /* NOWHERE */
    memset(unit_at, 0xff, is.superblocks * is.tlc_units * sizeof *unit_at);
    slc_superblocks = slc_valid = mapped = 0;
    start_anew();
}

static uint64_t programmed_bytes(void) { return did.slc_bytes + did.tlc_bytes; }

/* Bytes a second of all dies, when each channel serves its dies by turns. */
static double rate(double program_ns, uint64_t units_each) {
    double in_ns = (double)units_each * is.unit_bus_ns, by_dies = (double)is.dies / (in_ns + program_ns), by_channels = (double)is.channels / in_ns;
    return (double)(units_each * is.unit_bytes) * 1e9 * (by_dies < by_channels ? by_dies : by_channels);
}

static uint64_t cache_when_empty_bytes(void) {
    return (is.static_slc + (uint64_t)(is.dynamic_share * (double)(is.units / is.tlc_units))) * is.slc_units * is.unit_bytes;
}

static void truths_of_cells(void) {
    item("erase_time", is.erase_ns * 1e-9);
    if (cache_when_empty_bytes()) return; /* of the rest there are two */
    item("page_read_time", is.tlc_read_ns * 1e-9);
    item("program_time", is.tlc_program_ns * 1e-9);
    item("pages_per_block", (double)(is.block_pages * is.bits));
}

static void truths(void) {
    double word_line_bytes = (double)(is.page_bytes * is.bits), word_line_ns = (double)(is.page_units * is.bits) * is.unit_bus_ns;
    bool cached = cache_when_empty_bytes() > 0, calm = vary.noise <= 0 && vary.housekeeping_every_ns <= 0 && vary.throttle_rate <= 0;
    double past_cache = rate(is.tlc_program_ns, is.page_units * is.bits), link = 1e9 / host.ns_per_byte;
    truths_of_drive("page-mapped", true);
    truths_of_flash(false, (double)is.unit_bytes);
    truths_of_cells();
    item("channels", (double)is.channels);
    item("dies", (double)is.dies);
    item("planes_per_die", 1);
    item("parallel_units", (double)is.dies);
    item("page_bytes", (double)is.page_bytes);
    item("placement_by_address", 0);
    item("mapping_unit", (double)is.unit_bytes);
    item("write_buffer_bytes", (double)(is.buffer_units * is.unit_bytes));
    item("slc_cache_bytes", (double)cache_when_empty_bytes());
    if (cached && !is.fold_in_front && calm) item("slc_direct_rate", past_cache < link ? past_cache : link);
    if (cached) return; /* of the rest there are two: in SLC and past it */
    truths_of_collection((double)((is.superblocks - is.static_slc - is.low - 1) * is.tlc_units) / (double)is.units - 1, false);
    item("stripe_bytes", word_line_bytes);
    item("superblock_bytes", (double)(is.tlc_units * is.unit_bytes));
    if (vary.housekeeping_every_ns <= 0) item("flush_cost", command_s() + word_line_ns * 1e-9 + mean_s(is.tlc_program_ns));
}

static void design(void) {
    item("physical_bytes", (double)((is.superblocks - is.static_slc) * is.tlc_units * is.unit_bytes)); /* without the static cache */
    item("bits", (double)is.bits);
    item("superblock_bytes", (double)(is.tlc_units * is.unit_bytes));
    item("spare_share", (double)((is.superblocks - is.static_slc) * is.tlc_units) / (double)is.units - 1);
    item("spare_superblocks_kept", (double)is.low);
    item("slc_cache_empty_bytes", (double)cache_when_empty_bytes());
    item("slc_cache_full_bytes", (double)(is.static_slc * is.slc_units * is.unit_bytes));
    item("slc_program_bytes_per_s", rate(is.slc_program_ns, is.page_units));
    item("tlc_program_bytes_per_s", rate(is.tlc_program_ns, is.page_units * is.bits));
    item("idle_fold_after_ns", idle_ns);
}

static void counters(void) {
    item("slc_programmed_bytes", (double)did.slc_bytes);
    item("tlc_programmed_bytes", (double)did.tlc_bytes);
    item("folded_bytes", (double)(did.folded * is.unit_bytes));
    item("collected_bytes", (double)(did.collected * is.unit_bytes));
    item("erased_superblocks", (double)did.erases);
    item("slc_held_bytes", (double)(slc_valid * is.unit_bytes));
    item("slc_limit_bytes", (double)(slc_limit() * is.slc_units * is.unit_bytes));
}

int main(int count, char **values) {
    arguments(count, values);
    is.capacity_bytes = (uint64_t)number("capacity", "4G");
    is.unit_bytes = (uint64_t)number("unit", "4K");                  /* what is mapped */
    is.page_bytes = (uint64_t)number("page", "16K");
    is.bits = (uint64_t)number("bits", "3");                         /* 3: TLC, 4: QLC */
    is.dies = (uint64_t)number("dies", "8");
    is.channels = (uint64_t)number("channels", "4");
    is.block_pages = (uint64_t)number("block_pages", "64");          /* of a block in SLC; it has so many word lines */
    is.op = number("op", "0.1");                                     /* spare area, as a share of the capacity */
    is.dynamic_share = number("dynamic", "0.5");                     /* how much of what is free may be SLC */
    double static_bytes = number("static", "64M");                   /* what is SLC always, in bytes of the cache */
    is.keep_share = number("keep", "0");                             /* how much of the cache idle folding leaves full */
    is.fold_in_front = !strcmp(text("full", "direct"), "fold");      /* direct: straight to TLC */
    idle_ns = number("idle_fold", "1s");                          /* 0: never */
    is.buffer_units = (uint64_t)number("buffer", "1M") / is.unit_bytes;
    is.slc_read_ns = number("slc_read", "25us");
    is.tlc_read_ns = number("tlc_read", "65us");
    is.slc_program_ns = number("slc_program", "200us");
    is.tlc_program_ns = number("tlc_program", "1800us");             /* of a whole word line */
    is.erase_ns = number("erase", "3500us");
    is.unwritten_ns = number("unwritten", "5us");
    is.unit_bus_ns = (double)is.unit_bytes * 1e9 / number("bus_rate", "400e6");
    host_parameters("1800e6", "full", "5us", "2us");
    variation_parameters();
    idle_work = fold_while_idle;
    if (is.unit_bytes < 512 || is.unit_bytes % 512 || is.page_bytes % is.unit_bytes || !is.page_bytes) fail("unit is a multiple of 512, and page of unit.");
    if (!is.dies || !is.channels || !is.block_pages || is.bits < 2) fail("dies, channels and block_pages are at least 1, and bits at least 2.");
    is.page_units = is.page_bytes / is.unit_bytes;
    if (is.buffer_units < is.page_units * is.bits * 2) fail("The buffer must hold two word lines.");
    is.slc_units = is.dies * is.block_pages * is.page_units;
    is.tlc_units = is.slc_units * is.bits;
    is.units = is.capacity_bytes / is.unit_bytes;
    if (is.units < is.tlc_units) fail("The capacity has room for no superblock.");
    is.static_slc = (uint64_t)(static_bytes / (double)(is.slc_units * is.unit_bytes));
    is.low = 4;
    is.superblocks = (uint64_t)((double)is.units * (1 + is.op) / (double)is.tlc_units) + 1 + is.static_slc + is.low;
    serve(&(struct drive){
        .name = "Dynamic SLC cache", .summary = "SLC cache by free space, idle folding, then TLC or folding in front",
        .capacity_bytes = is.units * is.unit_bytes, .can_trim = true, .begin = begin, .arrive = arrive,
        .programmed_bytes = programmed_bytes, .truths = truths, .design = design, .counters = counters, .power_cut = power_cut});
}
