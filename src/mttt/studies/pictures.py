"""The pictures of the studies."""

from collections.abc import Iterable, Mapping

from mttt.report import Picture, plots
from mttt.studies import figure1, table1
from mttt.studies.measured import Measured
from mttt.studies.row import Study


def draw(study: Study, measured: Iterable[Measured], everything: Mapping[str, Measured]) -> list[Picture]:
    """The pictures of a study: of its own rows, and of `everything` where other studies' rows belong beside them."""
    if not plots.can_draw():
        return []
    rows = {m.row.name: m for m in measured if m.accuracies}
    if study.name == "figure1-left":
        return _against_steps(rows)
    if study.name == "figure1-right":
        return _inner_losses(rows)
    pictures = []
    if rows:
        both = len({m.row.size for m in rows.values()}) > 1
        labels = {f"{m.row.label}{f', {m.row.size.title()}' if both else ''}": m for m in rows.values()}
        values = {label: list(m.accuracies.values()) for label, m in labels.items()}
        ours = [label for label, m in labels.items() if m.row.label.startswith("MTTT")]
        pictures.append(Picture(f"{study.name}-accuracy", plots.accuracies(values, ours), f"{study.title}."))
    if study.name == "controls":
        pictures += _other_steps(everything)
    return pictures


def _against_steps(rows: dict[str, Measured]) -> list[Picture]:
    full = {
        1: figure1.MTTT_MLP,
        2: figure1.FULL2,
        3: figure1.FULL3,
        4: figure1.FULL4,
        6: figure1.FULL6,
    }
    sgd = {1: figure1.MTTT_MLP, 2: figure1.SGD2, 4: figure1.SGD4}
    series = {
        name: {t: list(rows[row.name].accuracies.values()) for t, row in points.items() if row.name in rows}
        for name, points in (("full batch", full), ("SGD, T mini-batches", sgd))
    }
    if not all(series.values()):
        return []
    caption = "Accuracy of MTTT-MLP against T, from patches: means, and the range of the seeds."
    return [Picture("accuracy-against-steps", plots.against_steps(series, "inner steps T"), caption)]


def _inner_losses(rows: dict[str, Measured]) -> list[Picture]:
    pictures = []
    for m in rows.values():
        if not m.curves:
            continue
        curves = list(m.curves.values())
        caption = (
            f"{m.row.label} from {m.row.look}: the inner loss on the test images at t = 0 … T, for every layer, over "
            f"the training; mean of {len(curves)} seed{'s' if len(curves) > 1 else ''}."
        )
        pictures.append(Picture(f"inner-losses-{m.row.look}", plots.inner_losses(curves), caption))
    return pictures


def _other_steps(rows: Mapping[str, Measured]) -> list[Picture]:
    series = {}
    for row, name in ((table1.MTTT_MLP, "trained with T = 1"), (figure1.FULL4, "trained with T = 4")):
        measured = rows.get(row.name)
        if measured and (probes := measured.probes):
            steps = set.intersection(*(set(probe) for probe in probes.values()))
            series[name] = {t: [100 * probe[t]["accuracy"] for probe in probes.values()] for t in sorted(steps)}
    if not series:
        return []
    caption = (
        "Trained models evaluated with other numbers of inner steps (claim 11): means, and the range of the seeds."
    )
    return [Picture("other-steps", plots.against_steps(series, "inner steps T at evaluation", log=True), caption)]
