cp "$SOURCES/data/haswell-e5-2695v3-cod-cg.json" machine.json
