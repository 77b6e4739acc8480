/* The flash of `superblock.c`: its state, where slices go, and how long they take. */

/* A unit is what the mapping maps; a slice is what a die programs at once, a page of each plane. */
static struct {
    uint64_t capacity_bytes, page_bytes, unit_bytes, buffer_bytes;
    uint32_t channels, dies, planes, block_pages, gc_free;
    double spare, read_ns, program_ns, erase_ns, ns_per_byte, flush_above, flush_every_ns;
    bool parity, paced;
} with;
static uint32_t all_dies, slice_units, superblock_slices, superblock_units, superblocks, logical_units, data_slices;

struct superblock { uint32_t valid; bool free; uint64_t closed_at; };
static struct superblock *superblock_of;
static uint32_t *where, *owner;      /* physical unit of each logical one, and back, or NONE */
static struct stream { uint32_t superblock, slice; } streams[2];
static uint32_t free_superblocks, next_free;
static uint64_t *die_free_ns, *channel_free_ns, programmed_slices, erased_superblocks, host_units, written_units;
static uint32_t *die_host_programs;

/* ---- Flash: where slices go, and how long they take. ---- */

static uint64_t slice_bytes(void) { return with.page_bytes * with.planes; }
static uint32_t slice_of(uint32_t unit) { return unit / slice_units; }
static uint32_t die_of(uint32_t slice) { return slice % all_dies; }

static uint64_t over_channel(uint32_t die, uint64_t from_ns, uint64_t bytes) {
    return reserve(&channel_free_ns[die % with.channels], from_ns, (uint64_t)((double)bytes * with.ns_per_byte + 0.5));
}

static void forget(uint32_t unit) {
    if (where[unit] == NONE) return;
    owner[where[unit]] = NONE;
    superblock_of[where[unit] / superblock_units].valid--;
    where[unit] = NONE;
}

static uint64_t program_slice(uint32_t slice) {
    uint32_t die = die_of(slice);
    uint64_t loaded_ns = over_channel(die, after_housekeeping(now_ns), slice_bytes());
    programmed_slices++;
    return reserve(&die_free_ns[die], loaded_ns, varied(with.program_ns));
}

static bool is_parity(uint32_t slice) { return with.parity && die_of(slice) == slice / all_dies % all_dies; }

/* Whether the stream has a place for a slice, now or by opening a superblock; the host leaves the
 * last free one to collection. Parity is programmed as its place comes. */
static bool has_place(int which) {
    struct stream *stream = &streams[which];
    while (stream->superblock != NONE && stream->slice < superblock_slices) {
        uint32_t slice = stream->superblock * superblock_slices + stream->slice;
        if (!is_parity(slice)) return true;
        program_slice(slice);
        stream->slice++;
    }
    if (stream->superblock != NONE) superblock_of[stream->superblock].closed_at = written_units;
    stream->superblock = NONE;
    if (free_superblocks < (which == HOST ? 2u : 1u)) return false;
    while (!superblock_of[next_free].free) next_free = (next_free + 1) % superblocks;
    superblock_of[next_free].free = false;
    free_superblocks--;
    *stream = (struct stream){next_free, 0};
    return has_place(which);
}

/* Programs units into the next slice of a stream; gives the slice and, by `end_ns`, when it is done. */
static uint32_t append(int which, const uint32_t *units, uint32_t count, uint64_t *end_ns) {
    uint32_t slice = streams[which].superblock * superblock_slices + streams[which].slice++;
    for (uint32_t i = 0; i < count; i++) {
        forget(units[i]);
        where[units[i]] = slice * slice_units + i;
        owner[where[units[i]]] = units[i];
        superblock_of[streams[which].superblock].valid++;
    }
    written_units += count;
    *end_ns = program_slice(slice);
    return slice;
}

/* How long the slice of one small write takes on its own, with the parity that is due right before
 * it: in the mean of a whole rotation of the parity over the dies. A row that ends with parity comes
 * before one that begins with it; these two may be on the channel, or the die, of the next slice. */
static double flushed_s(void) {
    uint64_t *die_ns = zeroed(all_dies, sizeof *die_ns), *channel_ns = zeroed(with.channels, sizeof *channel_ns);
    uint64_t load_ns = (uint64_t)((double)slice_bytes() * with.ns_per_byte + 0.5), program_ns = (uint64_t)(mean_s(with.program_ns) * 1e9 + 0.5);
    double sum_ns = 0, count = 0;
    for (uint32_t slice = 0; slice < 2 * all_dies * all_dies; slice++) {
        uint32_t die = die_of(slice);
        uint64_t loaded_ns = reserve(&channel_ns[die % with.channels], 0, load_ns);
        uint64_t end_ns = reserve(&die_ns[die], loaded_ns, program_ns);
        if (is_parity(slice)) continue;
        if (slice >= all_dies * all_dies) sum_ns += (double)end_ns, count++; /* the first one has no row before it */
        memset(die_ns, 0, all_dies * sizeof *die_ns);
        memset(channel_ns, 0, with.channels * sizeof *channel_ns);
    }
    free(die_ns);
    free(channel_ns);
    return sum_ns / count * 1e-9;
}
