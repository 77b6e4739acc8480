/* A drive-managed shingled (SMR) disk, after what Skylight found in such drives (Aghayev and Desnoyers,
 * FAST 2015).
 *
 * The addresses are cut into bands of some tens of MB that lie in order on the platter (static
 * mapping). A band can only be written from some sector to its end without harm, so writes go to a
 * persistent media cache first, at the outer or inner diameter: a log, in which each journal entry
 * takes several writes and a header. Its map has room for so many extents. When the drive is idle, or
 * when the log or the map is full, the band of the oldest entry in the log is cleaned: it is read,
 * merged with its extents, and written again. Requests are served between the steps of that. A write
 * that goes on where a band was written last, or that streams over a band from its begin, goes there
 * directly; a stream that stops within a band costs reading and writing the rest of the band. */
#include "platter_truths.h"

struct extent { uint64_t first, end, place, number; }; /* sectors; place on the platter; number in the log */
struct band { struct extent *extents; uint64_t held, room, written; /* sectors in place from its begin */ };
struct entry { uint64_t band, sectors, live; }; /* of the log; how many extents of it live */

static struct {
    uint64_t capacity_sectors, band_sectors, bands, cache_first, data_first, cache_sectors, most_extents;
    uint64_t journal_writes, journal_sectors, buffer_sectors, depth, step_sectors, stream_sectors, ahead_sectors;
    double idle_ns;
    bool write_cache;
} is;

static struct queue reads, buffered, delayed, flushes;
static struct band *bands;
static struct entry *entries; /* of the log, a ring by number */
static uint64_t entries_room, entry_tail, entry_head, log_used, log_place, extents_held;
static uint64_t buffered_sectors, arrived, stream_next, stream_end, idle_since_ns;
static bool busy, timer_runs, writes_turn;
static size_t journaling; /* how many of the buffered writes the head is writing */
static struct head_stream head; /* reads ahead from `ahead_from` up to `ahead_to` */
static uint64_t ahead_from, ahead_to;
static struct { bool active; uint64_t band, before, size, done; size_t next_extent; struct extent *extents; size_t held; } cleaning;
static struct { uint64_t journals, journaled, direct_sectors, cleaned, in_front, streams_broken; } did;

static void dispatch(uint64_t unused, uint64_t unused_too);

/* ---- The map of the media cache. ---- */

static struct entry *entry(uint64_t number) { return &entries[number % entries_room]; }

static void drop(uint64_t number) { /* an extent of that entry; what is dead at the tail of the log is free */
    entry(number)->live--;
    extents_held--;
    for (; entry_tail < entry_head && !entry(entry_tail)->live; entry_tail++) log_used -= entry(entry_tail)->sectors;
}

static void add_extent(struct band *band, struct extent one) {
    if (band->held == band->room) {
        band->room = 2 * band->room + 4;
        if (!(band->extents = realloc(band->extents, band->room * sizeof one))) fail("There is no memory for extents.");
    }
    band->extents[band->held++] = one;
    extents_held++;
}

/* Takes sectors out of the extents of a band, of entries before that number only. */
static void cut(struct band *band, uint64_t first, uint64_t end, uint64_t before) {
    for (uint64_t i = band->held; i-- > 0;) {
        struct extent *one = &band->extents[i], old = *one;
        if (old.end <= first || end <= old.first || old.number >= before) continue;
        if (old.first < first && end < old.end) { /* two are left */
            one->end = first;
            entry(old.number)->live++;
            add_extent(band, (struct extent){end, old.end, old.place + (end - old.first), old.number});
        } else if (old.first < first) {
            one->end = first;
        } else if (end < old.end) {
            one->first = end;
            one->place += end - old.first;
        } else {
            band->extents[i] = band->extents[--band->held];
            drop(old.number);
        }
    }
}

/* A new entry of the log; its place on the platter. No entry goes over the end of the cache. */
static uint64_t log_entry(uint64_t band, uint64_t sectors) {
    if (entry_head - entry_tail == entries_room) {
        struct entry *larger = zeroed(2 * entries_room, sizeof *larger);
        for (uint64_t i = entry_tail; i < entry_head; i++) larger[i % (2 * entries_room)] = *entry(i);
        free(entries);
        entries = larger;
        entries_room *= 2;
    }
    uint64_t skipped = log_place + sectors > is.cache_sectors ? is.cache_sectors - log_place : 0, place = skipped ? 0 : log_place;
    *entry(entry_head++) = (struct entry){band, sectors + skipped, 1};
    log_used += sectors + skipped;
    log_place = place + sectors;
    return is.cache_first + place;
}

static bool cache_has_room(uint64_t sectors, uint64_t writes) {
    return extents_held + 2 * writes <= is.most_extents && log_used + 2 * sectors + 16 <= is.cache_sectors;
}

/* ---- The head. ---- */

static void head_is_free(uint64_t unused, uint64_t unused_too);

static void head_works(struct head_stream until) {
    busy = true;
    head = until;
    ahead_to = 0;
    at(until.time_ns, head_is_free, 0, 0);
}

/* The next piece of a read: in place, or from an extent. */
static uint64_t piece(uint64_t first, uint64_t *end) {
    const struct band *band = &bands[first / is.band_sectors];
    uint64_t place = is.data_first + first;
    *end = least(*end, (first / is.band_sectors + 1) * is.band_sectors);
    for (uint64_t i = 0; i < band->held; i++) {
        const struct extent *one = &band->extents[i];
        if (one->first <= first && first < one->end) {
            *end = least(*end, one->end);
            return one->place + (first - one->first);
        }
        if (first < one->first && one->first < *end) *end = one->first;
    }
    return place;
}

static uint64_t first_place(const struct access *one) {
    uint64_t end = one->end;
    return piece(one->first, &end);
}

static bool comes_ahead(uint64_t place) { return ahead_from <= place && place <= head.sector && head.sector < ahead_to; }

/* Whether the read-ahead holds it; then there is room to read further. */
static bool read_ahead_has(const struct access *one) {
    uint64_t end = one->end, place = piece(one->first, &end), to = place + one->end - one->first;
    if (busy || end < one->end || place < ahead_from || to > head.sector || !ahead_to) return false;
    uint64_t further = least(to + is.ahead_sectors, platter.sectors);
    bool stopped = head.sector == ahead_to;
    if (further < ahead_to + (stopped ? is.ahead_sectors / 2 : 1)) return true;
    if (stopped) head = position(now_ns, head.sector, false); /* it has gone by and must come again */
    ahead_to = further;
    return true;
}

static void read_now(struct access one) {
    struct head_stream stream = {0, now_ns};
    for (uint64_t first = one.first, end; first < one.end; first = end) {
        uint64_t place = piece(first, (end = one.end, &end)), to = place + end - first;
        bool ahead = first == one.first && comes_ahead(place);
        if (ahead) stream = head;
        if (!ahead && stream.sector != place) stream = transfer(stream.time_ns, ahead_from = place, to - place, false);
        else pass(&stream, to, UINT64_MAX, false);
    }
    if (stream.time_ns < now_ns) stream.time_ns = now_ns;
    idle_since_ns = stream.time_ns;
    tell(over_link(true, stream.time_ns, (one.end - one.first) * SECTOR), one.slot);
    head_works(stream);
    ahead_to = least(stream.sector + is.ahead_sectors, platter.sectors);
    if (ahead_to > ahead_from + 2 * is.ahead_sectors) ahead_from = ahead_to - 2 * is.ahead_sectors;
}

/* ---- Writes. ---- */

static bool accept_write(struct access one) {
    uint64_t sectors = one.end - one.first;
    if (buffered.held && buffered_sectors + sectors > is.buffer_sectors) return false;
    buffered_sectors += sectors;
    if (one.told == IN_CACHE) tell(now_ns, one.slot);
    insert(&buffered, buffered.held, one);
    return true;
}

static void journaled(void) {
    for (size_t i = 0; i < journaling; i++) {
        buffered_sectors -= buffered.one[i].end - buffered.one[i].first;
        if (buffered.one[i].told == AT_END) tell(now_ns, buffered.one[i].slot);
    }
    take_out(&buffered, 0, journaling);
    journaling = 0;
    while (delayed.held && accept_write(delayed.one[0])) take_out(&delayed, 0, 1);
    while (flushes.held && (!buffered.held || flushes.one[0].number < buffered.one[0].number)) {
        tell(now_ns, flushes.one[0].slot);
        take_out(&flushes, 0, 1);
    }
}

/* Writes the rest of a band over which a stream went only in part, so that it is whole again. */
static void mend_stream(void) {
    struct head_stream read = transfer(now_ns, is.data_first + stream_next, stream_end - stream_next, false);
    head_works(transfer(read.time_ns, is.data_first + stream_next, stream_end - stream_next, true));
    did.streams_broken++;
    stream_next = stream_end = 0;
}

/* Whether so many buffered writes that follow each other can go to their band; gives the end of what can. */
static uint64_t direct_end(size_t *count) {
    uint64_t first = buffered.one[0].first, end = first, to = (first / is.band_sectors + 1) * is.band_sectors;
    struct band *band = &bands[first / is.band_sectors];
    uint64_t most = is.stream_sectors > is.journal_sectors ? is.stream_sectors : is.journal_sectors; /* so that room is made bit by bit */
    for (*count = 0; *count < buffered.held && end - first < most && buffered.one[*count].first == end && buffered.one[*count].end <= to; ++*count)
        end = buffered.one[*count].end;
    bool goes_on = first == stream_next && stream_next < stream_end, fresh = first % is.band_sectors == band->written;
    bool streams = first % is.band_sectors == 0 && end - first >= is.stream_sectors && !(cleaning.active && cleaning.band == first / is.band_sectors);
    return *count && (goes_on || fresh || streams) ? end : 0;
}

static void write_now(void) {
    size_t count;
    uint64_t first = buffered.one[0].first, end = direct_end(&count);
    if (stream_next < stream_end && !(end && first == stream_next)) {
        mend_stream();
    } else if (end) {
        struct band *band = &bands[first / is.band_sectors];
        uint64_t begin = first / is.band_sectors * is.band_sectors;
        stream_next = end;
        stream_end = begin + band->written;
        if (end - begin > band->written) band->written = end - begin;
        cut(band, first, end, UINT64_MAX);
        did.direct_sectors += end - first;
        journaling = count;
        head_works(transfer(now_ns, is.data_first + first, end - first, true));
    } else { /* a header of 4 KiB, then the writes */
        uint64_t sectors = 8, place = 0;
        for (count = 0; count < buffered.held && count < is.journal_writes && (!count || sectors < is.journal_sectors); count++) {
            struct access one = buffered.one[count]; /* lies in one band */
            if (count && one.first % is.band_sectors == 0) break; /* a stream may begin */
            struct band *band = &bands[one.first / is.band_sectors];
            cut(band, one.first, one.end, UINT64_MAX);
            uint64_t header = count ? 0 : 8, where = log_entry(one.first / is.band_sectors, header + one.end - one.first);
            if (!count) place = where;
            add_extent(band, (struct extent){one.first, one.end, where + header, entry_head - 1});
            sectors += one.end - one.first;
        }
        did.journals++;
        did.journaled += count;
        journaling = count;
        head_works(transfer(now_ns, place, least(sectors, is.cache_first + is.cache_sectors - place), true));
    }
    idle_since_ns = head.time_ns;
}

/* ---- Cleaning. ---- */

static int by_place(const void *x, const void *y) {
    uint64_t a = ((const struct extent *)x)->place, b = ((const struct extent *)y)->place;
    return (a > b) - (a < b);
}

static void start_cleaning(void) {
    struct band *band = &bands[entry(entry_tail)->band];
    cleaning.active = true;
    cleaning.band = entry(entry_tail)->band;
    cleaning.before = entry_head;
    cleaning.done = cleaning.next_extent = 0;
    cleaning.held = band->held;
    cleaning.size = band->written;
    if (!(cleaning.extents = realloc(cleaning.extents, band->held * sizeof *band->extents))) fail("There is no memory for extents.");
    memcpy(cleaning.extents, band->extents, band->held * sizeof *band->extents);
    qsort(cleaning.extents, cleaning.held, sizeof *cleaning.extents, by_place);
    for (size_t i = 0; i < cleaning.held; i++) {
        uint64_t size = cleaning.extents[i].end - cleaning.band * is.band_sectors;
        if (size > cleaning.size) cleaning.size = size;
    }
}

/* One step: a part of the band is read, or an extent, or a part is written. */
static void clean(void) {
    if (!cleaning.active) start_cleaning();
    struct band *band = &bands[cleaning.band];
    uint64_t place = is.data_first + cleaning.band * is.band_sectors;
    if (cleaning.done < band->written && !cleaning.next_extent) {
        uint64_t count = least(is.step_sectors, band->written - cleaning.done);
        head_works(transfer(now_ns, place + cleaning.done, count, false));
        cleaning.done += count;
    } else if (cleaning.next_extent < cleaning.held) {
        struct extent *one = &cleaning.extents[cleaning.next_extent++];
        head_works(transfer(now_ns, one->place, one->end - one->first, false));
        cleaning.done = 0;
    } else {
        uint64_t count = least(is.step_sectors, cleaning.size - cleaning.done);
        head_works(transfer(now_ns, place + cleaning.done, count, true));
        cleaning.done += count;
        if (cleaning.done < cleaning.size) return;
        cleaning.active = false;
        if (band->written < cleaning.size) band->written = cleaning.size;
        cut(band, cleaning.band * is.band_sectors, (cleaning.band + 1) * is.band_sectors, cleaning.before);
        did.cleaned++;
    }
}

/* ---- What the head does next. ---- */

static void head_is_free(uint64_t unused, uint64_t unused_too) {
    busy = false;
    journaled();
    dispatch(unused, unused_too);
}

static void timer(uint64_t unused, uint64_t unused_too) {
    timer_runs = false;
    dispatch(unused, unused_too);
}

static size_t best_read(void) {
    size_t best = 0;
    double best_ns = INFINITY;
    for (size_t i = 0; i < reads.held && i < is.depth; i++) {
        uint64_t place = first_place(&reads.one[i]);
        double this_ns = comes_ahead(place) ? (double)now_ns : position_ns(place, false);
        if (this_ns < best_ns) best = i, best_ns = this_ns;
    }
    return best;
}

static void dispatch(uint64_t unused, uint64_t unused_too) {
    (void)unused, (void)unused_too;
    if (busy) return;
    if (ahead_to) pass(&head, ahead_to, now_ns, false);
    if (reads.held && !(writes_turn && buffered.held)) {
        size_t place = best_read();
        struct access one = reads.one[place];
        take_out(&reads, place, 1);
        writes_turn = true;
        read_now(one);
        return;
    }
    writes_turn = false;
    size_t count;
    if (buffered.held && (direct_end(&count) || cache_has_room(buffered_sectors, is.journal_writes))) {
        write_now();
    } else if (buffered.held) {
        did.in_front++;
        clean();
    } else if (entry_tail < entry_head || cleaning.active || stream_next < stream_end) {
        uint64_t due_ns = idle_since_ns + (uint64_t)is.idle_ns;
        if (now_ns >= due_ns) {
            if (stream_next < stream_end) mend_stream(); else clean();
        } else if (!timer_runs) {
            timer_runs = true;
            at(due_ns, timer, 0, 0);
        }
    }
}

/* ---- Requests. ---- */

static bool is_buffered(const struct access *one) {
    for (size_t i = buffered.held; i-- > 0;)
        if (buffered.one[i].first <= one->first && one->end <= buffered.one[i].end) return true;
    return false;
}

static void trim(uint64_t first, uint64_t end) {
    for (uint64_t to; first < end; first = to) {
        struct band *band = &bands[first / is.band_sectors];
        uint64_t begin = first / is.band_sectors * is.band_sectors;
        to = least(end, begin + is.band_sectors);
        cut(band, first, to, UINT64_MAX);
        bool streamed = begin < stream_end && stream_end <= begin + is.band_sectors, cleaned = cleaning.active && cleaning.band == first / is.band_sectors;
        if (first == begin && to - begin >= band->written && !streamed && !cleaned) band->written = 0;
    }
}

static void arrive(const struct record *request) {
    struct access one = {.first = request->offset_bytes / SECTOR, .end = (request->offset_bytes + request->length_bytes + SECTOR - 1) / SECTOR,
                         .since_ns = now_ns, .number = ++arrived, .slot = request->slot, .write = request->kind == WRITE};
    idle_since_ns = now_ns;
    if (!busy && ahead_to) pass(&head, ahead_to, now_ns, false);
    if (request->kind == FLUSH && buffered.held) {
        insert(&flushes, flushes.held, one);
    } else if (request->kind == FLUSH || request->kind == TRIM || one.first == one.end) {
        if (request->kind == TRIM) trim(one.first, request->length_bytes % SECTOR ? one.first : one.end);
        tell(now_ns, one.slot);
    } else if (one.write) { /* in parts that lie in one band each, the last of which is told */
        enum told told = is.write_cache && !(request->flags & FUA) ? IN_CACHE : AT_END;
        for (uint64_t end = one.end; one.first < end; one.first = one.end) {
            one.end = least(end, (one.first / is.band_sectors + 1) * is.band_sectors);
            one.told = one.end == end ? told : NEVER;
            if (delayed.held || !accept_write(one)) insert(&delayed, delayed.held, one);
        }
    } else if (is_buffered(&one) || read_ahead_has(&one)) {
        tell(over_link(true, now_ns, request->length_bytes), one.slot);
    } else {
        insert(&reads, reads.held, one);
    }
    dispatch(0, 0);
}

static void begin(void) {
    for (uint64_t i = 0; bands && i < is.bands; i++) free(bands[i].extents);
    free(bands);
    free(entries);
    bands = zeroed(is.bands, sizeof *bands);
    entries = zeroed(entries_room = 1024, sizeof *entries);
    entry_tail = entry_head = log_used = log_place = extents_held = buffered_sectors = stream_next = stream_end = ahead_from = ahead_to = 0;
    reads.held = buffered.held = delayed.held = flushes.held = journaling = 0;
    busy = timer_runs = writes_turn = cleaning.active = false;
    idle_since_ns = now_ns;
    host_begin();
    platter_begin();
}

/* What is buffered is lost; the media cache and its map are not. */
static void power_cut(void) {
    lose(&buffered);
    events_held = buffered_sectors = journaling = ahead_to = 0;
    busy = timer_runs = false;
    idle_since_ns = now_ns;
    host_begin();
}

static void truths(void) {
    uint64_t first = is.data_first, end = is.data_first + is.capacity_sectors;
    truths_of_drive("disk", is.write_cache);
    platter_truths(first, end);
    item("reordering", is.depth > 1);
    item("command_queue_depth", (double)is.depth);
    item("read_ahead", is.ahead_sectors > 0);
    item("read_ahead_streams", is.ahead_sectors > 0);
    if (is.ahead_sectors) item("read_ahead_bytes", (double)(is.ahead_sectors * SECTOR));
    if (is.ahead_sectors) platter_rate_truths(first, end);
    item("write_buffer_bytes", is.write_cache ? (double)(is.buffer_sectors * SECTOR) : 0);
    if (!is.write_cache) item("flush_cost", command_s());
}

static void design(void) {
    platter_design();
    item("band_bytes", (double)(is.band_sectors * SECTOR));
    item("bands", (double)is.bands);
    item("media_cache_bytes", (double)(is.cache_sectors * SECTOR));
    item("media_cache_extents", (double)is.most_extents);
    item("journal_writes", (double)is.journal_writes);
    item("idle_clean_after_ns", is.idle_ns);
}

static void counters(void) {
    item("journal_entries", (double)did.journals);
    item("journaled_writes", (double)did.journaled);
    item("directly_written_bytes", (double)(did.direct_sectors * SECTOR));
    item("cleaned_bands", (double)did.cleaned);
    item("steps_in_front", (double)did.in_front);
    item("broken_streams", (double)did.streams_broken);
    item("extents_held", (double)extents_held);
    item("log_held_bytes", (double)(log_used * SECTOR));
    item("sectors_read", (double)media.sectors_read);
    item("sectors_written", (double)media.sectors_written);
}

int main(int count, char **values) {
    arguments(count, values);
    uint64_t capacity_bytes = (uint64_t)number("capacity", "500e9");
    is.band_sectors = (uint64_t)number("band", "30M") / SECTOR;
    is.cache_sectors = (uint64_t)number("media_cache", "4e9") / SECTOR;
    is.most_extents = (uint64_t)number("extents", "50000");            /* that the map has room for */
    is.journal_writes = (uint64_t)number("journal_writes", "16");      /* in a journal entry, at most */
    is.journal_sectors = (uint64_t)number("journal", "1M") / SECTOR;   /* how long it may become */
    is.write_cache = number("write_cache", "1") != 0;
    is.buffer_sectors = (uint64_t)number("write_cache_bytes", "8M") / SECTOR;
    is.stream_sectors = (uint64_t)number("stream", "1M") / SECTOR;     /* from the begin of a band, to go there directly */
    is.step_sectors = (uint64_t)number("clean_step", "4M") / SECTOR;   /* of cleaning, between which requests are served */
    is.ahead_sectors = (uint64_t)number("read_ahead", "1M") / SECTOR;
    is.depth = (uint64_t)number("queue", "32");
    is.idle_ns = number("idle_clean", "1s");                           /* after so much idle time bands are cleaned */
    bool outer = !strcmp(text("media_cache_at", "outer"), "outer");    /* or inner */
    if (!is.band_sectors || !is.step_sectors || !is.depth || !is.journal_writes) fail("band, clean_step, queue and journal_writes are at least 1.");
    if (is.cache_sectors < 4 * is.buffer_sectors + 65536 || is.most_extents < 8 * is.journal_writes) fail("The media cache has too little room for the write cache or a journal entry.");
    is.bands = capacity_bytes / SECTOR / is.band_sectors;
    is.capacity_sectors = is.bands * is.band_sectors;
    if (!is.bands) fail("The capacity has room for no band.");
    platter_parameters((is.capacity_sectors + is.cache_sectors) * SECTOR, "5900", "2400", "1200");
    is.cache_first = outer ? 0 : is.capacity_sectors;
    is.data_first = outer ? is.cache_sectors : 0;
    host_parameters("300e6", "half", "50us", "20us");
    variation_parameters();
    serve(&(struct drive){
        .name = "Drive-managed SMR disk", .summary = "Shingled bands with static mapping and a persistent media cache",
        .capacity_bytes = is.capacity_sectors * SECTOR, .can_trim = true, .begin = begin, .arrive = arrive,
        .truths = truths, .design = design, .counters = counters, .power_cut = power_cut});
}
