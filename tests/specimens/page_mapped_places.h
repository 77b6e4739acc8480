/* Of `page_mapped.c`: its state, queues of commands, and where pages lie. */

struct command { uint32_t next, slot, page, bytes; uint64_t order; };
struct queue { uint32_t first, last; };
struct plane {
    struct queue reads, writes;
    uint32_t frontier[2], next_page[2]; /* of the host and of collection, the same with one stream */
    uint32_t free_blocks, victim, victim_page;
    uint32_t *free_stack, *valid;       /* per block */
    uint32_t *owner;                    /* logical page of a physical one, or NONE */
};
struct die {
    enum kind kind;
    uint32_t commands, command[MOST_PLANES];
    uint32_t erasing[MOST_PLANES];      /* planes */
    uint32_t pages_in;                  /* to be programmed */
    bool chooses;                       /* what to do next, by an event that is planned */
    uint64_t bytes_out, sense_ns, cell_ns;
};
struct flush { uint32_t slot; uint64_t order, left; };

static struct {
    uint64_t capacity_bytes, page_bytes, block_pages, cache_pages;
    uint32_t channels, ways, dies, planes, streams, gc_blocks;
    double spare, read_ns, erase_ns, program_ns[3], ns_per_byte, command_ns, merge_wait_ns;
    bool multiplane, copyback, read_first, erased_reads;
    const char *order;
} with;
static uint32_t all_dies, all_planes, plane_blocks, digits[4], strides[4], bits;
static uint64_t logical_pages;

static struct plane *planes;
static struct die *dies;
static uint64_t *channel_free_ns;
static uint32_t *where;          /* physical page in its plane of each logical page, or NONE */
static uint8_t *queued, *in_flight; /* of each logical page: in the cache, being programmed out of it */
static struct command *pool;
static uint32_t pool_free = NONE, pool_room;
static uint64_t orders, cached_pages, programmed_pages, erased_blocks, host_pages, flushes_held;
static struct queue waiting;     /* writes for room in the cache */
static struct flush *flushes;

/* ---- Queues of commands. ---- */

static uint32_t make_command(uint32_t slot, uint32_t page, uint32_t bytes) {
    if (pool_free == NONE) {
        uint32_t more = pool_room ? pool_room : 1024;
        if (!(pool = realloc(pool, (pool_room + more) * sizeof *pool))) fail("There is no memory for commands.");
        for (uint32_t i = 0; i < more; i++) pool[pool_room + i].next = i + 1 < more ? pool_room + i + 1 : NONE;
        pool_free = pool_room;
        pool_room += more;
    }
    uint32_t made = pool_free;
    pool_free = pool[made].next;
    pool[made] = (struct command){NONE, slot, page, bytes, orders++};
    return made;
}

static void free_command(uint32_t command) { pool[command].next = pool_free, pool_free = command; }

static void push(struct queue *queue, uint32_t command) {
    if (queue->first == NONE) queue->first = command;
    else pool[queue->last].next = command;
    queue->last = command;
}

static uint32_t pop(struct queue *queue) {
    uint32_t command = queue->first;
    queue->first = pool[command].next;
    pool[command].next = NONE;
    return command;
}

/* ---- Where pages lie. ---- */

static uint32_t plane_of(uint32_t page) { /* the digits of the page's number, in the order of allocation */
    uint32_t plane = 0;
    for (int i = 0; i < 4; page /= digits[i++]) plane += page % digits[i] * strides[i];
    return plane;
}

static uint32_t channel_of(uint32_t die) { return die / (with.ways * with.dies); }

static void forget(struct plane *plane, uint32_t page) {
    if (where[page] == NONE) return;
    plane->owner[where[page]] = NONE;
    plane->valid[where[page] / with.block_pages]--;
    where[page] = NONE;
}

/* Gives the page its new place in the plane, and the kind of that page: lower, middle or upper. The
 * kinds follow each other in a block. */
static uint32_t place(struct plane *plane, uint32_t page, bool collecting) {
    uint32_t stream = collecting && with.streams == 2;
    if (plane->next_page[stream] == with.block_pages) {
        if (!plane->free_blocks) fail("A plane ran out of blocks.");
        plane->frontier[stream] = plane->free_stack[--plane->free_blocks];
        plane->next_page[stream] = 0;
    }
    uint32_t block = plane->frontier[stream], within = plane->next_page[stream]++;
    forget(plane, page);
    where[page] = (uint32_t)(block * with.block_pages + within);
    plane->owner[where[page]] = page;
    plane->valid[block]++;
    programmed_pages++;
    return within % bits;
}

static bool writable(const struct plane *plane) { /* the last free block is for collection */
    return plane->next_page[0] < with.block_pages ? plane->free_blocks > 0 || with.streams == 2 : plane->free_blocks >= 2;
}

/* The closed block with the fewest valid pages, or NONE where no block would gain anything. */
static uint32_t greediest(const struct plane *plane) {
    uint32_t best = NONE, fewest = (uint32_t)with.block_pages;
    static uint8_t *is_free;
    if (!is_free) is_free = zeroed(plane_blocks, 1);
    for (uint32_t i = 0; i < plane->free_blocks; i++) is_free[plane->free_stack[i]] = 1;
    for (uint32_t block = 0; block < plane_blocks; block++) {
        bool open = (block == plane->frontier[0] && plane->next_page[0] < with.block_pages) ||
                    (block == plane->frontier[1] && plane->next_page[1] < with.block_pages);
        if (!open && !is_free[block] && plane->valid[block] < fewest) best = block, fewest = plane->valid[block];
    }
    for (uint32_t i = 0; i < plane->free_blocks; i++) is_free[plane->free_stack[i]] = 0;
    return best;
}

/* What collection does next in this plane: a page to move (its number in the plane), or the erasure. */
static enum kind next_of_collection(struct plane *plane, uint32_t *moved) {
    if (plane->victim == NONE) {
        if ((plane->victim = greediest(plane)) == NONE) return IDLE;
        plane->victim_page = 0;
    }
    for (; plane->victim_page < with.block_pages; plane->victim_page++) {
        *moved = (uint32_t)(plane->victim * with.block_pages) + plane->victim_page;
        if (plane->owner[*moved] != NONE) return MOVING;
    }
    return ERASING;
}
