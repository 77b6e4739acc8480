"""What becomes of each of fio's options: it is run, passed over with the reason, or refused.

``benches/fio_options.py`` makes the table in ``docs/fio-jobs.md``; a test holds one against the
other.
"""


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


RUN = _names(
    """
    rw rwmixread rwmixwrite bs bsrange bssplit ba
    iodepth iodepth_low iodepth_batch_complete_min numjobs
    rate rate_iops rate_process thinktime thinktime_blocks
    random_distribution percentage_random norandommap
    size filesize nrfiles io_size offset offset_increment number_ios loops
    runtime time_based ramp_time startdelay stonewall wait_for exitall
    fsync fdatasync sync writefua buffer_compress_percentage dedupe_percentage
    refill_buffers scramble_buffers zero_buffers buffer_pattern
    zonemode zonesize zonerange zoneskip kb_base ioengine filename
    read_iolog replay_no_stall replay_time_scale
    """
)
"""Options that decide what is issued."""


def _each(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(_names(names), reason)


PASSED_OVER = {
    **_each("the target is the one that the command names", "replay_redirect"),
    **_each(
        "it is about what fio prints and logs",
        """
        group_reporting description name new_group unified_rw_reporting write_bw_log write_lat_log
        write_iops_log write_hist_log write_iolog log_avg_msec log_offset log_prio log_window_value
        log_hist_msec log_hist_coarseness log_issue_time log_compression log_compression_cpus
        log_store_compressed log_alternate_epoch log_alternate_epoch_clock_id job_start_clock_id
        per_job_logs bwavgtime iopsavgtime block_error_percentiles disable_lat disable_clat
        disable_slat disable_bw_measurement lat_percentiles clat_percentiles slat_percentiles
        percentile_list significant_figures gtod_reduce unit_base stats eta status_interval
        write_lat_log_entries json disk_util minimal log_entries
        """,
    ),
    **_each(
        "it is about how fio uses the machine",
        """
        thread cpus_allowed cpus_allowed_policy cpumask nice prio prioclass priohint comm
        cmdprio_percentage cmdprio_class cmdprio_hint cmdprio cmdprio_bssplit mem iomem_align
        lockmem hugepage-size numa_cpu_nodes numa_mem_policy gtod_cpu clocksource uid gid cgroup
        cgroup_weight cgroup_nodelete profile job_max_open_files ioscheduler gpu_dev_id gpu_dev_ids
        cuda_io rocm_io thp
        """,
    ),
    **_each(
        "it is about how fio makes and opens files",
        """
        directory filename_format unique_filename filetype openfiles unlink fallocate
        create_serialize create_fsync create_on_open overwrite allow_file_create fadvise_hint
        file_service_type allow_mounted_write unlink_each_loop opendir lockfile pre_read
        softrandommap write_hint
        """,
    ),
    **_each(
        "it names the storage of an engine, and the target is the one that the command names",
        """
        uri hostname port pool rbdname clustername clientname busy_poll volume brick initiator
        libblkio_driver libblkio_path libblkio_pre_connect_props libblkio_pre_start_props
        libblkio_num_entries libblkio_queue_size libblkio_vectored libblkio_wait_mode
        libblkio_force_enable_completion_eventfd spdk_conf spdk_json_conf spdk_mem spdk_single_seg
        spdk_rpc_listen_addr mem_size_mb shm_id enable_sgl sge_size disable_pcie_sgl_merge
        print_qid_mappings log_flags hostnqn enable_vmd enable_interrupts env_context xnvme_be
        xnvme_mem xnvme_async xnvme_sync xnvme_admin
        xnvme_dev_nsid xnvme_dev_subnqn xnvme_iovec
        """,
    ),
    **_each(
        "what surrounds the data of a request is no part of it here",
        """
        cmd_type cdb_len md_per_io_size pi_act pi_chk apptag apptag_mask digest_enable
        """,
    ),
    **_each(
        "it is about how requests are passed to the kernel; --engine says how here",
        """
        iodepth_batch_submit iodepth_batch_complete_max io_submit_mode hipri hipri_percentage
        fixedbufs registerfiles sqthread_poll sqthread_poll_cpu nonvectored libaio_vectored uncached
        userspace_reap serialize_overlap force_async nowait no_completion_thread
        """,
    ),
    **_each(
        "I/O passes by the page cache here, unless --engine says buffered",
        "direct buffered invalidate sync_file_range atomic",
    ),
    **_each(
        "--seed is the root of all randomness here",
        "randrepeat allrandrepeat randseed random_generator use_os_rand",
    ),
    **_each(
        "what is outstanding is waited for at the end, and nothing is flushed then",
        "end_fsync end_syncfs fsync_on_close write_barrier",
    ),
    **_each(
        "errors are counted, and the first one ends a measurement",
        "continue_on_error ignore_error error_dump max_latency exitall_on_error",
    ),
    **_each(
        "it only means something beside verify",
        """
        do_verify verify_backlog verify_backlog_batch verify_async verify_async_cpus verify_fatal
        verify_dump verify_interval verify_offset verify_pattern_interval verify_policy verifysort
        verifysort_nr verify_state_load verify_state_save verify_write_sequence verify_header_seed
        experimental_verify
        """,
    ),
    **_each("it ends a job that is slower, and here the rate is shown", "rate_min rate_iops_min"),
    **_each("it is about how fio averages rate_min", "rate_cycle"),
    **_each("a pause is a pause, whatever the processor does meanwhile", "thinktime_spin"),
    **_each("requests are counted as they are issued", "thinktime_blocks_type"),
    **_each("a job runs its whole time, and the report judges whether it is steady", "steadystate"),
    **_each(
        "see steadystate",
        "steadystate_duration steadystate_ramp_time steadystate_check_interval",
    ),
    **_each("as of sequential: parts of a run follow one another", "rw_sequencer"),
    **_each("exitall ends the jobs that run together", "exit_what"),
    **_each("places are multiples of the smallest size", "offset_align"),
    **_each("a write compresses as a whole", "buffer_compress_chunk"),
    **_each(
        "what is copied is content of the same stream",
        "dedupe_mode dedupe_global dedupe_working_set_percentage",
    ),
    **_each("a trace is always read in pieces", "read_iolog_chunked"),
    **_each("fio passes it over as well", "rwmixcycle percentage_sequential"),
}
"""Options without meaning here, each with the reason."""

_ZONED = "zonemode=zbd is for zoned devices"
_PLACED = "drives are not told here which data belong together"

REFUSED = {
    **_each(
        "use fourcorners verify, which writes, reads back and names what is wrong",
        "verify verify_pattern verify_only",
    ),
    **_each("no command is started from a job file", "exec_prerun exec_postrun"),
    **_each(
        "its load depends on what it measures: see fourcorners run latency-under-load",
        "latency_target latency_window latency_percentile latency_run",
    ),
    **_each(
        "jobs do not wait for one another's I/Os here", "flow flow_watermark flow_sleep flow_id"
    ),
    **_each(
        "it is no read, write or flush of a block device",
        """
        trim_percentage trim_backlog trim_backlog_batch trim_verify_zero num_range create_only
        cpuload cpuchunks
        """,
    ),
    **_each(
        "commands other than reads and writes are not issued",
        "sg_write_mode write_mode verify_mode read_mode stream_id deac",
    ),
    "readfua": "reads with FUA are not known here",
    "replay_align": "I/Os of a trace are widened to what the target takes",
    "replay_scale": "use fourcorners trace fold, which lays a trace onto a smaller drive",
    "replay_skip": "use fourcorners trace cut, or a file without what is to be left out",
    **_each(
        "use fourcorners trace merge",
        "merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters",
    ),
    "bs_is_seq_rand": "sizes belong to reads and writes here, not to sequential and random I/O",
    "bs_unaligned": "requests are multiples of 512 bytes",
    "file_append": "the end of a file is no place on a target",
    "fill_device": "write size=100%",
    "ramp_size": "use ramp_time",
    "thinktime_iotime": "pauses are counted in requests: use thinktime_blocks",
    "thinkcycles": "use thinktime",
    "rate_ignore_thinktime": "a rate and pauses exclude each other here",
    **_each(
        _ZONED,
        """
        max_open_zones job_max_open_zones zonecapacity read_beyond_wp ignore_zone_limits
        zone_reset_threshold zone_reset_frequency recover_zbd_write_error write_zone_remainder
        zone_append initial_zone_reset
        """,
    ),
    **_each(_PLACED, "fdp dataplacement plid_select plids dp_scheme"),
    **_each(
        "it makes a worn drive: see fourcorners prepare --steady-state",
        "sprandom spr_num_regions spr_op spr_cs",
    ),
    "random_sequence_stride": "random_distribution=sequence is not known here",
}
"""Options that change what is measured and cannot be honoured, each with what to do instead."""

HARMLESS = ("0", "none", "false", "write", "read")
"""Values with which a refused option asks for nothing that is not done."""

SYNCHRONOUS_ENGINES = _names(
    """
    psync sync vsync pvsync pvsync2 mmap splice libzbc libpmem dev-dax gfapi libcufile libhipfile
    """
)
"""fio's engines that have one I/O outstanding, whatever iodepth says; psync is its default."""

ENGINES = (
    *SYNCHRONOUS_ENGINES,
    *_names(
        """
        libaio io_uring io_uring_cmd posixaio windowsaio solarisaio guasi sg null xnvme libblkio
        spdk spdk_bdev rbd nbd libiscsi gfapi_async
        """
    ),
)
"""fio's engines that do block I/O; which of them it is decides the queue depth only."""
