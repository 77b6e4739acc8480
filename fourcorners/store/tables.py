"""Whether a table of a run folder is one that fourcorners writes."""

import pyarrow as pa
import pyarrow.compute as pc

# What every row of any table has.
_NEEDED = {
    "recording",
    "test",
    "operation",
    "ios",
    "bytes",
    "elapsed_s",
    "second",
    "low_ns",
    "high_ns",
    "count",
}
# Beyond these nothing was measured: 2^60 ns are 36 years, and a second is kept for each of a year.
_INTEGER_MAX = 2**60
_FLOAT_MAX = 1e24
_SECOND_MAX = 366 * 24 * 3600


def sound(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the columns of its schema; those that an earlier version did not know yet are
    null.

    Raises ``ValueError`` with a clause that says what is wrong.
    """
    columns = []
    for field in schema:
        if field.name not in table.schema.names:
            if field.name in _NEEDED:
                raise ValueError(f"it has no column {field.name}")
            columns.append(pa.nulls(len(table), field.type))
            continue
        try:
            column = table[field.name].cast(field.type)
        except pa.ArrowException:
            raise ValueError(f"{field.name} is not of type {field.type}") from None
        if field.name in _NEEDED and column.null_count:
            raise ValueError(f"{field.name} is missing in a row")
        if not _in_range(column, field):
            raise ValueError(f"{field.name} is out of range")
        columns.append(column)
    return pa.table(columns, schema=schema)


def _in_range(column: pa.ChunkedArray, field: pa.Field) -> bool:
    if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
        return True
    if pa.types.is_floating(field.type) and pc.all(pc.is_finite(column)).as_py() is False:
        return False
    ends = pc.min_max(column).as_py()
    if ends["min"] is None:
        return True
    if pa.types.is_floating(field.type):
        return bool(max(-ends["min"], ends["max"]) <= _FLOAT_MAX)
    most = _SECOND_MAX if field.name == "second" else _INTEGER_MAX
    # Times of single I/Os count from the start of measuring, and may be before it.
    least = 0 if field.name in _NEEDED else -_INTEGER_MAX
    return bool(least <= ends["min"] and ends["max"] <= most)
