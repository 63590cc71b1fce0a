"""Pictures and tables from what runs wrote."""

from mttt.report.figures import draw_figures as draw_figures
