"""Programs as nodes: functions of indices."""
