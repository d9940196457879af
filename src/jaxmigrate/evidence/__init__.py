"""Evidence from runs: the recorder, what starts it, and the readers of traces and logs."""
