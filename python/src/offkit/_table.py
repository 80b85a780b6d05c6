"""Rows that become a data frame where pandas is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas

Row = TypeVar("Row", bound=Mapping[str, Any])


# The class is `list[Row]` at run time, too: Python 3.9 knows that.
class Table(list[Row]):
    """A list of rows, each a dictionary with the same keys: ``columns``, which a table without rows has as well."""

    columns: tuple[str, ...]

    def __init__(self, rows: Iterable[Row] = (), columns: Iterable[str] = ()) -> None:
        super().__init__(rows)
        self.columns = tuple(self[0]) if self else tuple(columns)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas

        return pandas.DataFrame(list(self), columns=list(self.columns))
