"""What Arrow reads from memory, in memory that Arrow frees by itself."""

import pyarrow as pa


def source(content: bytes) -> pa.BufferReader:
    """The content as something that Arrow's readers take.

    It is a copy. Arrow's threads let go of what they have read a moment after the reader returns;
    of a Python object they would need the interpreter for that, and if it ends at that moment the
    process aborts ("terminate called without an active exception", apache/arrow#34314).
    """
    own = pa.allocate_buffer(len(content))
    memoryview(own).cast("B")[:] = content
    return pa.BufferReader(own)
