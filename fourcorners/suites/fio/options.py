"""What becomes of each of fio's options: it is run, passed over with the reason, or refused.

``docs/fio-jobs.md`` has the table; a test holds one against the other.
"""

RUN = (
    *("rw", "rwmixread", "rwmixwrite", "bs", "bsrange", "bssplit", "ba"),
    *("iodepth", "iodepth_low", "iodepth_batch_complete_min", "numjobs"),
    *("rate", "rate_iops", "rate_process", "thinktime", "thinktime_blocks"),
    *("random_distribution", "percentage_random", "norandommap"),
    *("size", "filesize", "io_size", "offset", "offset_increment", "number_ios", "loops"),
    *("runtime", "time_based", "ramp_time", "startdelay", "stonewall", "wait_for"),
    *("fsync", "fdatasync", "sync", "buffer_compress_percentage", "dedupe_percentage"),
    *("refill_buffers", "scramble_buffers", "zero_buffers", "buffer_pattern"),
    *("zonemode", "zonesize", "zonerange", "zoneskip", "kb_base", "ioengine", "filename"),
    *("read_iolog", "replay_no_stall", "replay_time_scale"),
)
"""Options that decide what is issued."""

_REPORTS = "it is about what fio prints and logs"
_MACHINE = "it is about how fio uses the machine"
_FILES = "it is about how fio makes and opens files"
_CALLS = "it is about how requests are passed to the kernel; --engine says how here"
_CACHE = "I/O passes by the page cache here, unless --engine says buffered"
_SEEDS = "--seed is the root of all randomness here"
_END = "what is outstanding is waited for at the end, and nothing is flushed then"
_ERRORS = "errors are counted, and the first one ends a measurement"

PASSED_OVER = {
    "replay_redirect": "the target is the one that the command names",
    **dict.fromkeys(
        (
            *("group_reporting", "description", "name", "new_group", "unified_rw_reporting"),
            *("write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "write_iolog"),
            *("log_avg_msec", "log_offset", "log_prio", "log_max_value", "log_hist_msec"),
            *("log_unix_epoch", "log_alternate_epoch", "per_job_logs", "bwavgtime", "iopsavgtime"),
            *(
                "disable_lat",
                "disable_clat",
                "disable_slat",
                "disable_bw_measurement",
                "disable_bw",
            ),
            *("lat_percentiles", "clat_percentiles", "slat_percentiles", "percentile_list"),
            *("significant_figures", "gtod_reduce", "unit_base", "stats", "eta", "status_interval"),
            *("write_lat_log_entries", "json", "disk_util", "minimal", "log_entries"),
        ),
        _REPORTS,
    ),
    **dict.fromkeys(
        (
            *("thread", "cpus_allowed", "cpus_allowed_policy", "cpumask", "nice", "prio"),
            *("prioclass", "cmdprio_percentage", "mem", "mem_align", "lockmem", "hugepage-size"),
            *("numa_cpu_nodes", "numa_mem_policy", "gtod_cpu", "clocksource", "uid", "gid"),
            *("cgroup", "cgroup_weight", "cgroup_nodelete", "profile", "job_max_open_files"),
        ),
        _MACHINE,
    ),
    **dict.fromkeys(
        (
            *(
                "directory",
                "filename_format",
                "unique_filename",
                "openfiles",
                "unlink",
                "fallocate",
            ),
            *(
                "create_serialize",
                "create_fsync",
                "create_on_open",
                "overwrite",
                "allow_file_create",
            ),
            *("fadvise_hint", "file_service_type", "allow_mounted_write", "unlink_each_loop"),
            *("opendir", "lockfile", "pre_read", "softrandommap", "write_hint"),
        ),
        _FILES,
    ),
    **dict.fromkeys(
        (
            *("iodepth_batch_submit", "iodepth_batch_complete_max", "io_submit_mode"),
            *("hipri", "hipri_percentage", "fixedbufs", "registerfiles", "sqthread_poll"),
            *(
                "sqthread_poll_cpu",
                "nonvectored",
                "uncached",
                "userspace_reap",
                "serialize_overlap",
            ),
            *("force_async", "nowait"),
        ),
        _CALLS,
    ),
    **dict.fromkeys(
        ("direct", "buffered", "invalidate", "sync_file_range", "atomic"),
        _CACHE,
    ),
    **dict.fromkeys(
        ("randrepeat", "allrandrepeat", "randseed", "random_generator", "use_os_rand"), _SEEDS
    ),
    **dict.fromkeys(("end_fsync", "fsync_on_close", "write_barrier"), _END),
    **dict.fromkeys(("continue_on_error", "ignore_error", "error_dump", "max_latency"), _ERRORS),
    "rate_min": "it ends a job that is slower, and here the rate is shown",
    "rate_iops_min": "it ends a job that is slower, and here the rate is shown",
    "rate_cycle": "it is about how fio averages rate_min",
    "thinktime_spin": "a pause is a pause, whatever the processor does meanwhile",
    "thinktime_blocks_type": "requests are counted as they are issued",
    "steadystate": "a job runs its whole time, and the report judges whether it is steady",
    "steadystate_duration": "see steadystate",
    "steadystate_ramp_time": "see steadystate",
    "steadystate_check_interval": "see steadystate",
    "rw_sequencer": "as of sequential: parts of a run follow one another",
    "exitall": "a job runs to its own end",
    "exit_what": "a job runs to its own end",
    "exitall_on_error": _ERRORS,
}
"""Options without meaning here, each with the reason."""

_NOT_BLOCK_IO = "it is no read, write or flush of a block device"
_VERIFY = "use fourcorners verify, which writes, reads back and names what is wrong"
_COMMAND = "no command is started from a job file"
_ADAPTS = "its load depends on what it measures: see fourcorners run latency-under-load"
_TIED = "jobs do not wait for one another's I/Os here"

REFUSED = {
    **dict.fromkeys(
        ("verify", "do_verify", "verify_backlog", "verify_pattern", "verify_only", "verify_async"),
        _VERIFY,
    ),
    **dict.fromkeys(("exec_prerun", "exec_postrun"), _COMMAND),
    **dict.fromkeys(
        ("latency_target", "latency_window", "latency_percentile", "latency_run"), _ADAPTS
    ),
    **dict.fromkeys(("flow", "flow_watermark", "flow_sleep", "flow_id"), _TIED),
    **dict.fromkeys(("trim_percentage", "trim_backlog", "cpuload", "cpuchunks"), _NOT_BLOCK_IO),
    "replay_align": "I/Os of a trace are widened to what the target takes",
    "replay_scale": "use fourcorners trace fold, which lays a trace onto a smaller drive",
    "replay_skip": "use fourcorners trace cut, or a file without what is to be left out",
    "bs_is_seq_rand": "sizes belong to reads and writes here, not to sequential and random I/O",
    "bs_unaligned": "requests are multiples of 512 bytes",
    "nrfiles": "a job has one area of the target: write a job for each file",
    "file_append": "the end of a file is no place on a target",
    "fill_device": "write size=100%",
    "thinktime_iotime": "pauses are counted in requests: use thinktime_blocks",
    "rate_ignore_thinktime": "a rate and pauses exclude each other here",
    "max_open_zones": "zonemode=zbd is for zoned devices",
    "sprandom": "it makes a worn drive: see fourcorners prepare --steady-state",
    "random_sequence_stride": "random_distribution=sequence is not known here",
}
"""Options that change what is measured and cannot be honoured, each with what to do instead."""

SYNCHRONOUS_ENGINES = ("psync", "sync", "vsync", "pvsync", "pvsync2", "mmap")
"""fio's engines that have one I/O outstanding, whatever iodepth says; psync is its default."""

ENGINES = (*SYNCHRONOUS_ENGINES, "libaio", "io_uring", "posixaio", "sg", "null", "io_uring_cmd")
"""fio's engines that do block I/O; which of them it is decides the queue depth only."""
