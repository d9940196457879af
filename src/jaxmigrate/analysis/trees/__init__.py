"""What trees may hold: an abstract interpreter over a project's functions, and the signs short of proof."""
