"""From a log file's bytes to the lines that parsers see: chunks, cleaning, labels, times, anchors, streams.

Nothing is loaded here: a node's collector cleans lines, and has no memory to spare for the engine of patterns.
"""
