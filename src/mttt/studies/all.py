"""All studies, and all of their rows."""

from mttt.studies import controls, figure1, table1, table2, table3
from mttt.studies.row import Row, Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (table1.TABLE1, table2.TABLE2, table3.TABLE3, figure1.LEFT, figure1.RIGHT, controls.CONTROLS)
}
ALL_ROWS: tuple[Row, ...] = tuple({row.name: row for study in STUDIES.values() for row in study.rows}.values())
