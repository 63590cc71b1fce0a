"""The paper's tables, with its own numbers beside ours."""

from mttt.studies.costs import Row as Row, costs as costs
