"""The parameters of vdbench's files, which may be shortened to two letters (``xf`` is
``xfersize``): a shortened one means the first that begins so, in the order in which vdbench looks
for them (its ``Vdb_scan``, ``SD_entry``, ``WD_entry``, ``RD_entry`` and ``For_loop``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_STORAGE = _words("""
    host lun count size threads hitarea offset align kstat instance replay journal resetlun resetbus
    openflags range dedupratio dedupunit streams
""")
_WORKLOAD = _words("""
    skew xfersize readpct rdpct writepct wrpct range hotband seekpct stride priority iorate rhpct
    whpct host openflags threads streams
""")
_RUN = _words("""
    iorate curve stopcurve elapsed interval warmup pause forxfersize forthreads forrdpct forrhpct
    forwhpct forseekpct forhitarea forcompratio forcompression fordepth forwidth forfiles forsizes
    fortotalsize forwss forworkingsetsize foroperations xfersize threads rdpct rhpct whpct seekpct
    hitarea compratio compression depth width files sizes totalsize wss workingsetsize distribution
    startcmd start_cmd endcmd end_cmd fwdrate operations format openflags mount
""")
_COMMON = _words("""
    compratio compressionseed port pattern data_errors dataerrors swat validate unix2windows
    formatxfersize create_anchors formatsds report report_run_totals histogram psrset auxreport
    monitor concatenatesds messagescan abort_failed_skew misc
""")
_OF_KIND: Mapping[str, Sequence[str]] = {"sd": _STORAGE, "wd": _WORKLOAD, "rd": _RUN}
_WHOLE = frozenset(
    _words("sd wd rd hd rg fsd fwd host replay user include maxdata maxdataread maxdatawritten")
)
"""These are never meant by less."""
_SAME = {"readpct": "rdpct", "wrpct": "writepct", "start_cmd": "startcmd", "end_cmd": "endcmd"}
_LETTERS_MIN = 2
"""As vdbench has it."""


def whole_word(word: str, kind: str) -> str:
    """What a parameter is called in full, on a line that begins with ``kind``; an unknown one
    stays as it is."""
    if word in _WHOLE or len(word) < _LETTERS_MIN:
        return word
    found = next((one for one in _OF_KIND.get(kind, _COMMON) if one.startswith(word)), word)
    return _SAME.get(found, found)
