"""Trackers: they show the numbers of a run elsewhere, read from its metrics.jsonl, in a process of their own."""

from mttt.tracking.feed import Feed as Feed
from mttt.tracking.tracker import Tracked as Tracked, Tracker as Tracker
from mttt.tracking.trackers import TRACKERS as TRACKERS, missing as missing
