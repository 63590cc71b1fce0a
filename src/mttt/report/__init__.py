"""Pictures and tables from what runs wrote."""

from mttt.report import plots as plots
from mttt.report.comparison import Curves as Curves, draw_comparison as draw_comparison
from mttt.report.confusion import draw_confusion as draw_confusion
from mttt.report.figures import complete_figures as complete_figures, draw_figures as draw_figures
from mttt.report.page import Page as Page, Picture as Picture, Section as Section, Table as Table
