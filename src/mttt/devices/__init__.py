"""Devices and processes: who has which rows and tokens, how all agree to stop, and what happens if one is gone."""

from mttt.devices.layout import Layout as Layout, layout_of as layout_of
from mttt.devices.processes import (
    Distributed as Distributed,
    NotConnected as NotConnected,
    connected as connected,
)
from mttt.devices.together import (
    Alone as Alone,
    Company as Company,
    OtherFailed as OtherFailed,
    Together as Together,
    Watch as Watch,
)
