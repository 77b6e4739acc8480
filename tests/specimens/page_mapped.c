/* (a) A page-mapped SSD with static allocation, as the research simulators build it.
 *
 * A logical page belongs to one channel, way (chip), die and plane for ever, by its number: the order
 * of allocation of SSDSim (Hu et al., ICS 2011) and MQSim (Tavakkol et al., FAST 2018); "CWDP" goes
 * through the channels first, then ways, dies and planes. Within its plane a page goes where the
 * plane writes next. Each plane has free blocks of its own and collects greedily, the block with
 * the fewest valid pages first, when they run out; a die takes commands for reads first, and commands
 * that wait for different planes of a die at once are merged (multi-plane commands, SSDSim); an idle
 * die begins at the end of the instant in which a command comes, or `merge_wait` later.
 * A die is busy until its data have left over the channel. There is no buffer unless `cache` asks. */
#include "truths.h"

enum { NONE = UINT32_MAX, MOST_PLANES = 8 };
enum kind { IDLE, READING, PROGRAMMING, MOVING, ERASING };

#include "page_mapped_places.h"

/* ---- What a die does. ---- */

static uint64_t over_channel(uint32_t channel, uint64_t from_ns, uint64_t bytes) {
    return reserve(&channel_free_ns[channel], from_ns, (uint64_t)(with.command_ns + (double)bytes * with.ns_per_byte + 0.5));
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Cell times of what the die does at once: merged commands take as long as the longest. */
static void sense(struct die *die) { die->sense_ns = later(die->sense_ns, varied_read(with.read_ns)); }
static void program(struct die *die, struct plane *plane, uint32_t page, bool collecting) {
    die->cell_ns = later(die->cell_ns, varied(with.program_ns[place(plane, page, collecting)]));
}

static void collect(uint32_t number, bool urgent) {
    struct die *die = &dies[number];
    for (uint32_t i = 0; i < with.planes; i++) {
        struct plane *plane = &planes[number * with.planes + i];
        uint32_t moved;
        if (plane->free_blocks >= (urgent ? 2 : with.gc_blocks) || (die->kind != IDLE && !with.multiplane)) continue;
        enum kind kind = next_of_collection(plane, &moved);
        if (kind == IDLE || (die->kind != IDLE && die->kind != kind)) continue;
        die->kind = kind;
        if (kind == MOVING) {
            sense(die);
            program(die, plane, plane->owner[moved], true);
            if (!with.copyback) die->pages_in++, die->bytes_out += with.page_bytes;
        } else {
            die->erasing[die->commands++] = number * with.planes + i;
            die->cell_ns = later(die->cell_ns, varied(with.erase_ns));
        }
    }
}

/* Takes the first command of each plane's queue (reads or writes) or, without multi-plane commands,
 * the oldest of them. */
static void take(uint32_t number, bool reads) {
    struct die *die = &dies[number];
    struct queue *oldest = NULL;
    for (uint32_t i = 0; i < with.planes; i++) {
        struct plane *plane = &planes[number * with.planes + i];
        struct queue *queue = reads ? &plane->reads : &plane->writes;
        if (queue->first == NONE || (!reads && !writable(plane))) continue;
        if (with.multiplane) die->command[die->commands++] = pop(queue);
        else if (!oldest || pool[queue->first].order < pool[oldest->first].order) oldest = queue;
    }
    if (oldest) die->command[die->commands++] = pop(oldest);
}

static uint64_t oldest_order(uint32_t number, bool reads) {
    uint64_t oldest = UINT64_MAX;
    for (uint32_t i = 0; i < with.planes; i++) {
        struct plane *plane = &planes[number * with.planes + i];
        uint32_t first = reads ? plane->reads.first : plane->writes.first;
        if (first != NONE && (reads || writable(plane)) && pool[first].order < oldest) oldest = pool[first].order;
    }
    return oldest;
}

static void page_to_host(uint64_t slot, uint64_t bytes) { piece_done((uint32_t)slot, over_link(true, now_ns, bytes)); }

static void end_of_command(uint64_t number, uint64_t b);

static void end_of_sensing(uint64_t number, uint64_t b) {
    struct die *die = &dies[number];
    uint32_t channel = channel_of((uint32_t)number);
    uint64_t end_ns = now_ns;
    for (uint32_t i = 0; die->kind == READING && i < die->commands; i++) {
        struct command *command = &pool[die->command[i]];
        end_ns = over_channel(channel, end_ns, command->bytes);
        at(end_ns, page_to_host, command->slot, command->bytes);
    }
    if (die->bytes_out) end_ns = over_channel(channel, end_ns, die->bytes_out);
    for (uint32_t i = 0; i < die->pages_in; i++) end_ns = over_channel(channel, end_ns, with.page_bytes);
    at(end_ns + die->cell_ns, end_of_command, number, b);
}

/* Chooses what an idle die does next: reads (where they go first, or are older), collection that
 * cannot wait, writes, collection that can. */
static void choose(uint64_t die_number, uint64_t b) {
    uint32_t number = (uint32_t)die_number;
    struct die *die = &dies[number];
    die->chooses = false;
    uint64_t read = oldest_order(number, true);
    if (read != UINT64_MAX && (with.read_first || read < oldest_order(number, false))) {
        take(number, true);
        die->kind = READING;
        for (uint32_t i = 0; i < die->commands; i++) sense(die);
    } else {
        collect(number, true);
        if (die->kind == IDLE) take(number, false);
        if (die->kind == IDLE && !die->commands) collect(number, false);
        if (die->kind == IDLE && !die->commands) return;
    }
    if (die->kind == IDLE) {
        die->kind = PROGRAMMING;
        die->pages_in = die->commands;
        for (uint32_t i = 0; i < die->commands; i++) {
            struct command *command = &pool[die->command[i]];
            if (with.cache_pages && command->slot == NONE) queued[command->page]--, in_flight[command->page]++;
            if (command->bytes < with.page_bytes && where[command->page] != NONE) { /* the rest of the page is read first */
                sense(die);
                die->bytes_out += with.page_bytes - command->bytes;
            }
            program(die, &planes[plane_of(command->page)], command->page, false);
        }
    }
    uint64_t sensed_ns = after_housekeeping(now_ns) + die->sense_ns;
    if (sensed_ns == now_ns) end_of_sensing(number, b);
    else at(sensed_ns, end_of_sensing, number, b);
}

static void go(uint32_t number, double wait_ns) {
    if (dies[number].kind != IDLE || dies[number].chooses) return;
    dies[number].chooses = true;
    at(now_ns + (uint64_t)wait_ns, choose, number, 0);
}

static void admit_waiting(void);

static void end_of_command(uint64_t number, uint64_t b) {
    (void)b;
    struct die *die = &dies[number];
    enum kind kind = die->kind;
    for (uint32_t i = 0; i < die->commands; i++) {
        if (kind == ERASING) {
            struct plane *plane = &planes[die->erasing[i]];
            plane->free_stack[plane->free_blocks++] = plane->victim;
            plane->victim = NONE;
            erased_blocks++;
            continue;
        }
        struct command command = pool[die->command[i]];
        free_command(die->command[i]);
        if (kind == READING) continue;
        if (command.slot != NONE) {
            piece_done(command.slot, now_ns);
            continue;
        }
        in_flight[command.page]--;
        cached_pages--;
        for (uint64_t f = 0; f < flushes_held; f++)
            if (command.order < flushes[f].order && --flushes[f].left == 0) {
                complete_at(now_ns + (uint64_t)host.overhead_ns + jitter(), flushes[f].slot);
                flushes[f--] = flushes[--flushes_held];
            }
    }
    die->kind = IDLE;
    die->commands = die->pages_in = 0;
    die->bytes_out = die->sense_ns = die->cell_ns = 0;
    if (kind == PROGRAMMING && with.cache_pages) admit_waiting();
    go((uint32_t)number, 0);
}

/* ---- Requests. ---- */

static void enqueue(uint32_t slot, uint32_t page, uint32_t bytes, bool reads) {
    uint32_t number = plane_of(page);
    push(reads ? &planes[number].reads : &planes[number].writes, make_command(slot, page, bytes));
}

static void write_page(uint32_t slot, uint32_t page, uint32_t bytes, bool through) {
    host_pages++;
    if (!with.cache_pages || through) {
        enqueue(slot, page, bytes, false);
    } else if (queued[page]) { /* the newer data take the place of the older */
        piece_done(slot, now_ns);
    } else if (cached_pages < with.cache_pages) {
        cached_pages++;
        queued[page]++;
        enqueue(NONE, page, bytes, false);
        piece_done(slot, now_ns);
    } else {
        host_pages--;
        push(&waiting, make_command(slot, page, bytes));
    }
}

static void admit_waiting(void) {
    while (waiting.first != NONE && cached_pages < with.cache_pages) {
        uint32_t first = pop(&waiting);
        struct command command = pool[first];
        free_command(first);
        write_page(command.slot, command.page, command.bytes, false);
        go(plane_of(command.page) / with.planes, 0);
    }
}

static void begin_flush(uint32_t slot) {
    if (!cached_pages) {
        complete_at(now_ns + (uint64_t)host.overhead_ns + jitter(), slot);
        return;
    }
    if (!(flushes = realloc(flushes, (flushes_held + 1) * sizeof *flushes))) fail("There is no memory for flushes.");
    flushes[flushes_held++] = (struct flush){slot, orders++, cached_pages};
}

static void arrive(const struct record *request) {
    uint32_t slot = request->slot;
    uint64_t begin = request->offset_bytes, end = begin + request->length_bytes, size = with.page_bytes;
    bool reads = request->kind == READ;
    if (request->kind == FLUSH) {
        begin_flush(slot);
        return;
    }
    if (request->kind == TRIM) { /* pages of which a part remains, keep it */
        for (uint64_t page = (begin + size - 1) / size; (page + 1) * size <= end; page++) forget(&planes[plane_of((uint32_t)page)], (uint32_t)page);
        complete_at(now_ns + (uint64_t)host.overhead_ns, slot);
        return;
    }
    uint64_t first = begin / size, last = end > begin ? (end - 1) / size : first;
    open_request(slot, last - first + 1);
    for (uint64_t page = first; page <= last; page++) {
        uint64_t from = later(begin, page * size), to = end < (page + 1) * size ? end : (page + 1) * size;
        uint32_t number = (uint32_t)page, bytes = (uint32_t)(to - from);
        if (!reads) write_page(slot, number, bytes, request->flags & FUA);
        else if ((with.cache_pages && (queued[number] || in_flight[number])) || (where[number] == NONE && !with.erased_reads)) page_to_host(slot, bytes);
        else enqueue(slot, number, bytes, true);
    }
    uint64_t dies_in_turn = last - first + 1 < all_planes ? last - first + 1 : all_dies;
    for (uint64_t i = 0; i < dies_in_turn; i++) go(dies_in_turn == all_dies ? (uint32_t)i : plane_of((uint32_t)(first + i)) / with.planes, with.merge_wait_ns);
}

/* ---- The drive. ---- */

static void begin(void) {
    host_begin();
    variation_begin();
    memset(where, 0xff, logical_pages * sizeof *where);
    memset(channel_free_ns, 0, with.channels * sizeof *channel_free_ns);
    memset(dies, 0, all_dies * sizeof *dies);
    if (with.cache_pages) memset(queued, 0, logical_pages), memset(in_flight, 0, logical_pages);
    pool_free = NONE, pool_room = 0;
    cached_pages = flushes_held = 0;
    waiting.first = NONE;
    for (uint32_t p = 0; p < all_planes; p++) {
        struct plane *plane = &planes[p];
        plane->reads.first = plane->writes.first = plane->victim = NONE;
        plane->frontier[0] = plane->frontier[1] = NONE;
        plane->next_page[0] = plane->next_page[1] = (uint32_t)with.block_pages;
        plane->free_blocks = plane_blocks;
        for (uint32_t block = 0; block < plane_blocks; block++) plane->free_stack[block] = plane_blocks - 1 - block, plane->valid[block] = 0;
        memset(plane->owner, 0xff, plane_blocks * with.block_pages * sizeof *plane->owner);
    }
}

static uint64_t programmed_bytes(void) { return programmed_pages * with.page_bytes; }

static void counters(void) {
    item("erased_blocks", (double)erased_blocks);
    item("programmed_pages", (double)programmed_pages);
    item("host_pages", (double)host_pages);
}

static void power_cut(void) { /* programs under way are finished; what waits in the cache is lost */
    for (uint64_t page = 0; with.cache_pages && page < logical_pages; page++)
        if (queued[page]) lost(page * with.page_bytes, with.page_bytes), queued[page] = 0, cached_pages--;
    for (uint32_t p = 0; p < all_planes; p++)
        while (planes[p].writes.first != NONE) free_command(pop(&planes[p].writes));
}

static double spare_share(void) { return (double)plane_blocks * all_planes * (double)with.block_pages / (double)logical_pages - 1; }

static uint64_t pages_in_a_row(void) { /* that lie on one die, written in sequence */
    uint64_t pages = 1;
    for (int i = 0; i < 4 && (with.order[i] == 'P' || digits[i] == 1); i++) pages *= digits[i];
    return pages;
}

static void truths_of_cells(void) {
    double mean_ns = 0;
    for (uint32_t i = 0; i < bits; i++) mean_ns += with.program_ns[i] / bits;
    item("page_read_time", with.read_ns * 1e-9);
    item("program_time", mean_ns * 1e-9);
    if (bits > 1) {
        item("program_time_lower", with.program_ns[0] * 1e-9);
        item("program_time_upper", with.program_ns[1] * 1e-9);
        item("program_time_extra", bits > 2 ? with.program_ns[2] * 1e-9 : 0);
        item("bits_per_cell", bits);
    }
    item("erase_time", with.erase_ns * 1e-9);
    item("pages_per_block", (double)with.block_pages);
}

static void truths(void) {
    double page = (double)with.page_bytes, block = page * (double)with.block_pages;
    truths_of_drive("page-mapped", with.cache_pages > 0);
    truths_of_flash(false, page);
    truths_of_cells();
    /* A plane must collect when it opens its last block but one. */
    truths_of_collection((double)(plane_blocks - 2) * all_planes * (double)with.block_pages / (double)logical_pages - 1, false);
    item("channels", with.channels);
    item("dies", all_dies);
    item("planes_per_die", with.multiplane ? with.planes : 1); /* that read together */
    item("parallel_units", with.multiplane ? all_planes : all_dies);
    item("page_bytes", page);
    item("stripe_bytes", page * (double)pages_in_a_row());
    item("placement_by_address", 1);
    item("mapping_unit", page);
    item("superblock_bytes", block * all_planes); /* what fills up together when written in sequence */
    item("write_buffer_bytes", (double)with.cache_pages * page);
    item("slc_cache_bytes", 0);
    if (!with.cache_pages) item("flush_cost", command_s());
}

static void design(void) {
    item_text("allocation_order", with.order);
    item("multi_plane_commands", with.multiplane);
    item("physical_bytes", (double)plane_blocks * all_planes * (double)(with.block_pages * with.page_bytes));
    item("spare_share", spare_share());
    item("spare_blocks_kept_per_plane", with.gc_blocks);
    item("page_transfer_ns", (double)with.page_bytes * with.ns_per_byte + with.command_ns);
    item("reads_of_erased_blocks_use_flash", with.erased_reads);
}

static void read_parameters(void) {
    with.capacity_bytes = (uint64_t)number("capacity", "4G");
    with.channels = (uint32_t)number("channels", "8");
    with.ways = (uint32_t)number("ways", "2");               /* chips on a channel */
    with.dies = (uint32_t)number("dies", "1");               /* in a chip */
    with.planes = (uint32_t)number("planes", "2");           /* in a die */
    with.page_bytes = (uint64_t)number("page", "4K");
    with.block_pages = (uint64_t)number("block_pages", "128");
    with.spare = number("spare", "0.12");                    /* more flash than capacity, as a share of the capacity */
    with.order = text("order", "CWDP");
    with.read_ns = number("read", "50us");
    with.erase_ns = number("erase", "3ms");
    with.program_ns[0] = number("program", "600us");         /* of every page, or of the lower pages */
    with.program_ns[1] = number("program_middle", "0us");    /* the second page of a cell; 0: one bit in each */
    with.program_ns[2] = number("program_upper", "0us");     /* the third; 0: no more than two bits */
    with.ns_per_byte = 1e9 / number("channel_rate", "400e6"); /* bytes a second */
    with.command_ns = number("command", "0.2us");            /* on the channel, with each transfer */
    with.multiplane = number("multiplane", "1") != 0;
    with.merge_wait_ns = number("merge_wait", "0ns");        /* of an idle die for commands of other planes */
    with.copyback = number("copyback", "0") != 0;            /* collection moves pages inside the plane */
    with.read_first = number("read_first", "1") != 0;
    with.erased_reads = number("erased_reads", "1") != 0;    /* pages never written are read from flash too */
    with.gc_blocks = (uint32_t)number("gc_blocks", "3");     /* fewer free blocks in a plane begin collection */
    with.streams = (uint32_t)number("streams", "1");         /* 2: collection writes to blocks of its own */
    with.cache_pages = (uint64_t)number("cache", "0") / with.page_bytes; /* bytes of a write cache */
    host_parameters("3.2e9", "full", "8us", "0.5us");
    variation_parameters();
}

static void lay_out(void) {
    uint32_t sizes[] = {with.channels, with.ways, with.dies, with.planes}, seen = 0;
    uint32_t steps[] = {with.ways * with.dies * with.planes, with.dies * with.planes, with.planes, 1};
    for (int i = 0; i < 4; i++) {
        const char *letters = "CWDP", *letter = strlen(with.order) == 4 ? strchr(letters, with.order[i]) : NULL;
        if (!letter || seen & 1u << (letter - letters)) fail("order=%s does not name each of C, W, D and P once.", with.order);
        seen |= 1u << (letter - letters);
        digits[i] = sizes[letter - letters];
        strides[i] = steps[letter - letters];
    }
    all_dies = with.channels * with.ways * with.dies;
    all_planes = all_dies * with.planes;
    logical_pages = with.page_bytes ? with.capacity_bytes / with.page_bytes : 0;
    if (!all_planes || !with.block_pages || !logical_pages || with.planes > MOST_PLANES || logical_pages * with.page_bytes != with.capacity_bytes)
        fail("The geometry is impossible: whole pages, at least one of each part, and at most %d planes.", MOST_PLANES);
    bits = 1u + (with.program_ns[1] > 0) + (with.program_ns[2] > 0);
    double plane_pages = ceil((double)logical_pages / all_planes);
    plane_blocks = (uint32_t)ceil((1 + with.spare) * plane_pages / (double)with.block_pages);
    if (with.gc_blocks < 2 || plane_blocks - plane_pages / (double)with.block_pages <= with.gc_blocks + 1)
        fail("The spare area is too small: each plane needs more than gc_blocks (at least 2) and one more in spare blocks.");
}

int main(int count, char **values) {
    arguments(count, values);
    read_parameters();
    lay_out();
    where = zeroed(logical_pages, sizeof *where);
    queued = zeroed(with.cache_pages ? logical_pages : 1, 1);
    in_flight = zeroed(with.cache_pages ? logical_pages : 1, 1);
    channel_free_ns = zeroed(with.channels, sizeof *channel_free_ns);
    dies = zeroed(all_dies, sizeof *dies);
    planes = zeroed(all_planes, sizeof *planes);
    for (uint32_t p = 0; p < all_planes; p++) {
        planes[p].free_stack = zeroed(plane_blocks, sizeof(uint32_t));
        planes[p].valid = zeroed(plane_blocks, sizeof(uint32_t));
        planes[p].owner = zeroed(plane_blocks * with.block_pages, sizeof(uint32_t));
    }
    static char name[64];
    snprintf(name, sizeof name, "Page-mapped, %s", with.order);
    serve(&(struct drive){
        .name = name,
        .summary = "Static allocation of pages to channel, way, die and plane; each plane collects by itself.",
        .capacity_bytes = with.capacity_bytes, .can_trim = true, .begin = begin, .arrive = arrive,
        .programmed_bytes = programmed_bytes, .truths = truths, .design = design, .counters = counters,
        .power_cut = with.cache_pages ? power_cut : NULL});
}
