"""Traffic: streams as bursty and as disordered as real ones, made on demand and measured."""

from skypane.traffic.catalogue import OPTIONS
from skypane.traffic.spec import TrafficSpec
from skypane.traffic.stream import Position, Stream, stream_of

__all__ = ["OPTIONS", "Position", "Stream", "TrafficSpec", "stream_of"]
