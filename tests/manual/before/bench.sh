cp "$DATA/machine/measured.json" machine.json
cp "$DATA/machine/measured.json" before.json
cp "$DATA/machine/later.json" after.json
