"""From a log file's bytes to the lines that parsers see: chunks, cleaning, labels, times, anchors, streams."""

from collector.framing.chunks import Chunk, read_chunks
from collector.framing.clean import clean_text
from collector.framing.labels import Label, split_label
from collector.framing.matcher import AnchorMatcher
from collector.framing.streams import Demux, FedSegment
from collector.framing.times import Clock

__all__ = [
    "AnchorMatcher",
    "Chunk",
    "Clock",
    "Demux",
    "FedSegment",
    "Label",
    "clean_text",
    "read_chunks",
    "split_label",
]
