"""Devices and processes: who has which rows and tokens, how all agree to stop, and what happens if one is gone."""

from mttt.devices.placement import Placement as Placement, placement_of as placement_of
from mttt.devices.processes import (
    Distributed as Distributed,
    NotConnected as NotConnected,
    connected as connected,
)
from mttt.devices.together import (
    ALONE as ALONE,
    Alone as Alone,
    Company as Company,
    OtherFailed as OtherFailed,
    Together as Together,
    Watch as Watch,
    done_by_first as done_by_first,
)
