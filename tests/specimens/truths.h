/* What is true of a specimen, by the names and in the units of the findings (docs/explain.md): what
 * several of them share. README.md says which findings have no truth here, and why. */
#ifndef SPECIMEN_TRUTHS_H
#define SPECIMEN_TRUTHS_H

#include "protocol.h"

static inline double most(double a, double b) { return a > b ? a : b; }

/* A flush that has nothing to do takes as long as any command. */
static inline double command_s(void) { return (host.overhead_ns + host.controller_ns + vary.jitter_ns) * 1e-9; }

/* What this cell operation takes on average. */
static inline double mean_s(double mean_ns) { return mean_ns * (1 + vary.outliers * (vary.outlier_times - 1)) * 1e-9; }

/* Power loss empties its cache, where it has one. */
static inline void truths_of_drive(const char *kind, bool volatile_cache) {
    item_text("explanation", kind);
    item("link_ceiling", 1e9 / host.ns_per_byte);
    item("volatile_write_cache", volatile_cache);
    item("power_loss_protection", 0);
    item("compression", 0);
    item("deduplication", 0);
}

static inline void truths_of_flash(bool log_blocks, double least_trim_bytes) {
    item("rotation_rpm", 0);
    item("zones", 1);
    item("log_blocks", log_blocks);
    item("read_ahead", 0);
    item("read_ahead_streams", 0);
    item("read_cache_bytes", 0);
    item("trim_granularity", most(least_trim_bytes, 4096)); /* the least part that is trimmed has 4 KiB */
}

/* A throttled drive recovers while it cools. */
static inline void truths_of_collection(double spare_share, bool idle_works) {
    item("over_provisioning", spare_share);
    item("op_by_cliff", spare_share);
    item("op_by_amplification", spare_share);
    if (vary.throttle_rate > 0) return;
    item("trim_effect", 1);
    if (!idle_works) item("idle_recovery", 0);
}
#endif
